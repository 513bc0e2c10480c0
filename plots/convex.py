"""Methods on convex sets and for games, as figures of the review show them: their names, and what is drawn of their runs."""

# The option of a method that makes it another one in these figures, and the value that the bare name stands for.
PLAIN = {
    "frank_wolfe": ("step", "auto"),
    "random_away": ("eta", None),
    "block": ("direction", "fw"),
    "dual_extragradient": ("geometry", "euclidean"),
    "sp_fw": ("step", "open_loop"),
}


def variant(run) -> str:
    """The name in `style.LINES` of what a run did."""
    option, plain = PLAIN.get(run["solver"], (None, None))
    value = run.get(f"solver.{option}", plain)
    return run["solver"] if option is None or value == plain else f"{run['solver']}[{value}]"


def variants(results):
    """The variant of every row of `results`."""
    runs = results.drop_duplicates("key").to_dict("records")
    return results["key"].map({run["key"]: variant(run) for run in runs})


def measured(results):
    """`results` with what is drawn of them; the gap is the best so far, which is what is certified."""
    best = results.groupby("key")["primal"].cummin() - results.groupby("key")["dual"].cummax()
    return results.assign(gap=best, value=results["primal"], calls=results["passes"])
