"""Freeze the criteria of all claims, before the runs that decide them are made: ``python -m tools.freeze``.

It writes the digest of each criterion to ``experiments/criteria.json``. If a criterion differs from its digest, seeds 10 to 19
confirm nothing of it. Commit the file before the runs, and write in ``changed=`` of a claim what you change after its result.
"""

import json
import sys
from pathlib import Path

from fwexp.driver.progress import print_line
from fwexp.papers.claims.registry import FROZEN, all_claims, frozen

PATH = Path(__file__).parents[1] / "experiments" / FROZEN


def main() -> int:
    """Write the file, and print which criteria were not frozen like this."""
    digests = {id: claim.digest for id, claim in all_claims().items()}
    for id in digests:
        if frozen().get(id) != digests[id]:
            print_line(f"{id}: {'changed' if id in frozen() else 'new'}")
    PATH.write_text(f"{json.dumps(digests, indent=1)}\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
