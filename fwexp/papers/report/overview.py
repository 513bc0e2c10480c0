"""Contents of the first page: the runs of the store, then the figures and claims of each paper."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from fwexp.papers.claims.verdict import FAILS, IN_PART
from fwexp.papers.report.pages import title_of
from fwexp.papers.report.run_pages import environment


def index(papers: Mapping[str, Mapping], runs: Sequence[Mapping]) -> dict:
    """Return the contents of the first page, from the contents of the pages of papers and of runs."""
    from fwexp.store.provenance import provenance

    places: dict[str, Counter] = defaultdict(Counter)
    for run in runs:
        places[run["place"]][run["method"]] += 1
    claims = [record for page in papers.values() for record in page["claims"]]
    return {
        "papers": [{"name": name, "title": title_of(name), **page} for name, page in papers.items()],
        "places": dict(sorted(places.items())),
        "runs": len(runs),
        "claims": claims,
        "contradicted": [record for record in claims if record["verdict"] == FAILS],
        "in_part": [record for record in claims if record["verdict"] == IN_PART],
        "environment": environment({"provenance": provenance()}),
    }
