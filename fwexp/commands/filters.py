"""Filters of stored runs on the command line: ``solver=bcfw,auto lam=0.1``."""

import contextlib
import math
from collections.abc import Mapping

from fwexp.driver.settings import factor_of_rule
from fwexp.driver.trace import Status
from fwexp.errors import OptionError, ParameterError, unknown
from fwexp.files import folders
from fwexp.methods import methods
from fwexp.run.catalogues import catalogue
from fwexp.run.config import names
from fwexp.store.paths import Entry, entries
from fwexp.store.stored_run import RUN_COLUMNS

NOT_FINISHED = ("partial", "failed", "damaged")
PARAMETERS = ("results_dir", "include")  # of `fwexp.store.find_runs`; they are no filters
NUMBERS = {
    "lam": 'a number or "c/n", such as "1/n"',
    "seed": "an integer >= 0",
    "max_passes": "a number",
    "gap_tol": "a number",
}


def read_filters(texts: Mapping[str, str], results_dir) -> dict[str, list]:
    """Return filters as `fwexp.store.find_runs` takes them, given their texts by key; refuse keys and values that no run has."""
    stored = list(entries(folders.check_folder("results_dir", results_dir)))
    for key, text in texts.items():
        _check(key, text.split(","), stored)
    return {key: _keys(text, stored) if key == "key" else _values(text) for key, text in texts.items()}


def _check(key: str, texts: list[str], stored: list[Entry]) -> None:
    """Refuse keys that are no filters, and values that no run can have, instead of finding no run."""
    if key in PARAMETERS:
        raise OptionError(unknown("filter", key, RUN_COLUMNS))
    if key in ("solver", "dataset"):
        known = {getattr(entry, key) for entry in stored} - {None}
        if not known.issuperset(texts):  # else there is no need to import them all
            known |= names(key) if key == "dataset" else {*catalogue(key)}
    elif key == "method":
        known = {*methods(), *(entry.solver for entry in stored)} - {None}
        texts = [text for text in texts if "[" not in text]  # named after its options
    elif key == "status":
        known = {*Status, *NOT_FINISHED} - {"partial"}
    elif key == "stale":
        known = {"true", "false"}
    else:
        known = None
    for text in texts:
        if known is not None and text not in known:
            raise ParameterError(unknown(key, text, known))
        if key in NUMBERS:
            number = _number(text)
            if number is None and not (key == "lam" and factor_of_rule(text)):
                raise ParameterError(f"{key} must be {NUMBERS[key]}, got {text!r}")
            if key == "seed" and not (number >= 0 and number.is_integer()):
                raise ParameterError(f"{key} must be {NUMBERS[key]}, got {text!r}")


def _keys(text: str, stored: list[Entry]) -> list[str]:
    """Return the keys that begin as the parts of a text do, as far as there are such."""
    known, keys = {entry.key for entry in stored}, []
    for part in text.split(","):
        matching = [part] if part in known else sorted(key for key in known if part and key.startswith(part))
        if len(matching) > 1:
            raise ParameterError(f"key must be the beginning of one key, got {part!r}, that of {', '.join(matching[:5])}")
        keys += matching
    return keys


def _number(text: str) -> float | None:
    with contextlib.suppress(ValueError):
        return float(text) if math.isfinite(float(text)) else None
    return None


def _values(text: str) -> list:
    """Return the value of a filter of the command line: ``0.01`` is a number, ``1/n`` and names are text."""
    return [value for part in text.split(",") for value in _readings(part)]


def _readings(text: str) -> list:
    import yaml

    number = _number(text)
    try:
        value = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError):  # text of some other kind, such as the date 2024-13-01
        value = text
    return [text, value] if number is None else [text, value, number]
