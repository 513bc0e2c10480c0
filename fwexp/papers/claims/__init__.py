"""The papers' claims: each a function that returns a verdict, with its criterion in its docstring.

Stored runs decide, or, for identities and bounds on small problems, a computation at the time of the check.

A claim looks at all seeds of the runs that it names, and at all logged points of the range that it names. What is not there
gives ``undecided``, never a guess.
"""

from fwexp.papers.claims.registry import Claim, Kind, all_claims, claim, of_paper, shown_by
from fwexp.papers.claims.verdict import NOT_REACHED, VERDICTS, Finding, Undecided
from fwexp.papers.claims.verdict_records import check, check_all

__all__ = [
    "NOT_REACHED",
    "VERDICTS",
    "Claim",
    "Finding",
    "Kind",
    "Undecided",
    "all_claims",
    "check",
    "check_all",
    "claim",
    "of_paper",
    "shown_by",
]
