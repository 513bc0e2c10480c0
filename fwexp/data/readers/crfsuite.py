"""Models of CRFsuite, as ``crfsuite dump`` and the method ``dump`` of python-crfsuite's Tagger print them."""

import re
from collections.abc import Collection
from typing import Any

from fwexp.data.readers.lines import text_lines
from fwexp.errors import DataError, shown
from fwexp.files.user_paths import check_path
from fwexp.types import AnyPath

NAME, WEIGHT = re.compile(r"\s*\d+: (.*)"), re.compile(r"\s*\(\d+\) (.*): ([-+.\deE]+)")
ARROW = " --> "
SECTIONS = ("FILEHEADER", "LABELS", "ATTRIBUTES", "TRANSITIONS", "STATE_FEATURES")


def read_crfsuite(path: AnyPath, *, separator: str = "=") -> dict[str, Any]:
    r"""Return the weights of a model of CRFsuite, from its dump.

    Parameters
    ----------
    path : path
        The text that ``crfsuite dump model`` or ``pycrfsuite.Tagger().dump(path)`` wrote, in UTF-8.
    separator : str, default "="
        What is between the key and the value of a feature. For features that were dicts in python-crfsuite it is ``":"``; the
        first one in every name becomes "=", as estimators name the features of dicts.

    Returns
    -------
    dict
        Arguments of ``ChainCRF.from_weights``: ``state_features``, ``transitions`` and ``classes``.

    Raises
    ------
    ValueError
        If the file cannot be read or is no dump; the message names the line.

    Examples
    --------
    >>> from fwexp.data import read_crfsuite
    >>> from fwexp.estimators import ChainCRF
    >>> lines = ["LABELS = {", "  0: D", "  1: N", "}"]
    >>> lines += ["ATTRIBUTES = {", "  0: the", "}"]
    >>> lines += ["TRANSITIONS = {", "  (1) D --> N: 0.5", "}"]
    >>> lines += ["STATE_FEATURES = {", "  (0) the --> D: 0.8", "}"]
    >>> with open("model.txt", "w") as file:
    ...     print("\n".join(lines), file=file)
    >>> ChainCRF.from_weights(**read_crfsuite("model.txt")).predict([["the", "dog"]])
    [['D', 'N']]
    """
    path = check_path("path", path)
    section, names = "", {"LABELS": {}, "ATTRIBUTES": {}}  # names in order, as keys
    found, first = {"TRANSITIONS": {}, "STATE_FEATURES": {}}, {"TRANSITIONS": "LABELS", "STATE_FEATURES": "ATTRIBUTES"}
    for number, line in text_lines(path):
        if line.endswith(" = {") and line.removesuffix(" = {") in SECTIONS:
            section = line.removesuffix(" = {")
        elif section in names and (name := NAME.fullmatch(line)):
            names[section][name[1]] = None
        elif section in found and (weight := WEIGHT.fullmatch(line)):
            pair = _pair(weight[1], names[first[section]], names["LABELS"])
            if pair is None:
                raise DataError(f"{path}, line {number}: must be a weight of names of the model, got {shown(line)}")
            found[section][pair] = float(weight[2])
        elif line not in ("", "}") and section != "FILEHEADER":
            raise DataError(f"{path}, line {number}: must be a line of a dump of CRFsuite, got {shown(line)}")
    if not names["LABELS"]:
        raise DataError(f"{path}: must be a dump of CRFsuite, got one without labels")
    features = {(name.replace(separator, "=", 1), label): value for (name, label), value in found["STATE_FEATURES"].items()}
    return {"state_features": features, "transitions": found["TRANSITIONS"], "classes": [*names["LABELS"]]}


def _pair(text: str, before: Collection[str], after: Collection[str]) -> tuple[str, str] | None:
    """Return the names before and after an arrow; names may have arrows, too."""
    parts = text.split(ARROW)
    pairs = ((ARROW.join(parts[:k]), ARROW.join(parts[k:])) for k in range(1, len(parts)))
    return next(((one, other) for one, other in pairs if one in before and other in after), None)
