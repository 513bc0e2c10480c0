"""Names of the problems that stored runs solve: runs with equal names have the same objective on the same data."""

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

USUAL = {"objective": "hinge", "temperature": 1.0}  # which the name of a problem leaves out


def problem_names(results: "pd.DataFrame") -> "pd.Series":
    """Return the problem of each row: the data set with its options, a kernel, the objective unless it is the hinge, and lam."""
    # Data of several contents are several problems; rows of unknown content share the problem of the only known content.
    import pandas as pd

    said = {name: name.removeprefix("dataset.") for name in results if name.startswith("dataset.") and name != "dataset.split"}
    said |= {name: name for name in USUAL if name in results}
    names = results["dataset"] + results["split"].map(lambda split: f" {split}" if isinstance(split, str) else "")
    for column, name in said.items():
        names += results[column].map(lambda value, name=name: _said(name, value)).astype(str)
    if "solver.kernel" in results:  # which changes the objective as data do
        options = [name for name in ("kernel", "degree", "gamma", "coef0") if f"solver.{name}" in results]
        kernels = pd.Series("", index=results.index)
        for name in options:
            kernels += results[f"solver.{name}"].map(lambda value, name=name: _said(name, value)).astype(str)
        names += kernels.where(results["solver.kernel"].notna() & (results["solver.kernel"] != "linear"), "")
    if "content" in results:
        several = results["content"].groupby(names).transform("nunique") > 1
        contents = results["content"].map(lambda content: f", data {content if isinstance(content, str) else 'unknown'}")
        names += contents.astype(str).where(several, "")
    return names + results["lam_spec"].map(lambda lam: f", lam={lam}" if lam else "").astype(str)


def _said(option: str, value) -> str:
    """Return an option for the name of a problem; empty for NaN or None, if the data set lacks it, and for usual values."""
    if option in USUAL and value == USUAL[option]:
        return ""
    if isinstance(value, str):
        return f", {option}={value}"
    return f", {option}={value:g}" if isinstance(value, int | float) and np.isfinite(value) else ""
