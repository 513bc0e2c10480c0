"""From overrides, or the grids of a preset, to the canonical configurations of a sweep.

A preset in ``conf/experiment`` may name several grids, since a figure needs more than one product (batch solvers have one seed,
for instance), and smaller values for a quick look::

    hydra:
      sweeper:
        grids:
          - {solver: [bcfw, ssg], seed: range(10), lam: [0.01, 1/n]}
          - {solver: fw, lam: [0.01, 1/n]}
        smoke: {max_passes: 2, seed: [0, 1]}

A value is a list of values, or text in Hydra's syntax for sweeps. Values of ``smoke`` (used with ``hydra.sweeper.preset=smoke``)
replace those of every grid, those of a grid's own ``smoke`` replace them there, and values on the command line replace all.
"""

import copy
import functools
import itertools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import NamedTuple

from hydra.core.override_parser.types import Override, OverrideType, ValueType
from hydra.errors import MissingConfigException
from omegaconf import DictConfig, OmegaConf, open_dict

from fwexp.errors import OptionError, ParameterError, UserError, unknown
from fwexp.run.composition import Composition
from fwexp.run.config import EXECUTION_KEYS, PRESETS, canonical, execution_settings, quote
from fwexp.run.executors import Executor, executor_of
from fwexp.run.hydra_errors import COMPOSING, explain
from fwexp.store.keys import GROUPS, key_of

MOST = 100_000  # runs of a sweep
Axes = dict[str, list[str]]  # key -> the overrides "key=value" that are tried in turn


class Points(NamedTuple):
    """The runs of a sweep: configurations and the overrides that distinguish them, by key, and why other points were left out."""

    configs: dict[str, dict]
    overrides: dict[str, tuple[str, ...]]
    execution: dict
    executor: Executor
    misfits: list[UserError]


def expand(composition: Composition, overrides: Sequence[str]) -> Points:
    """Return the points of a sweep, all validated."""
    common, parsed = split(composition, overrides)
    given = {key: choices(override) for key, override in parsed.items()}
    execution = check_execution(given)
    found, where, executors, misfits, points = {}, {}, {}, [], 0
    for preset in given.pop("+experiment", [None]):
        compose = Composer(composition, common, preset)
        executors[preset] = executor_of(compose.with_hydra)
        grids = [_without_old_data(axes, given) for axes in _grids(compose.with_hydra, composition)]
        points += sum(math.prod(map(len, (axes | given).values())) for axes in grids)
        _check_count(points)
        skips, last = execution_settings(compose(execution))["skip_invalid"], execution
        for axes in grids:
            for point in itertools.product(*(axes | given).values()):
                try:
                    config = compose.canonical(point)
                except (ParameterError, OptionError) as error:
                    if not skips:
                        raise
                    misfits.append(error)
                else:
                    found.setdefault(key_of(config), (config, last := point))
        where[preset] = execution_settings(compose(last))
    if not found:
        raise misfits[0]
    _check_alike(where, executors)
    configs, of_points = ({key: pair[place] for key, pair in found.items()} for place in (0, 1))
    return Points(configs, of_points, next(iter(where.values())), next(iter(executors.values())), misfits)


def split(composition: Composition, overrides: Sequence[str]) -> tuple[list[str], dict[str, Override]]:
    """Return the overrides of Hydra's own settings, and all others by their keys."""
    parsed = [composition.parse(text) for text in overrides]
    common = [override.input_line for override in parsed if override.is_hydra_override()]
    return common, {override.get_key_element(): override for override in parsed if not override.is_hydra_override()}


def check_execution(given: Axes) -> list[str]:
    """Return the overrides of `EXECUTION_KEYS`, of which each has one value."""
    for key in EXECUTION_KEYS:
        if len(given.get(key, ())) > 1:
            raise OptionError(f"{key} must have one value in a sweep, got {', '.join(given[key])}")
    return [given[key][0] for key in EXECUTION_KEYS if key in given]


def _check_alike(where: Mapping, executors: Mapping) -> None:
    """Refuse experiments that cannot be run together."""
    if any(other != next(iter(where.values())) for other in where.values()):
        raise OptionError(f"experiments that disagree on {', '.join(EXECUTION_KEYS)} cannot be run together")
    if any(other != next(iter(executors.values())) for other in executors.values()):
        raise OptionError("experiments that disagree on hydra/launcher cannot be run together; choose it on the command line")


def _without_old_data(axes: Axes, given: Axes) -> Axes:
    """Return a grid without options of its data sets if the command line chooses others, which need not have them."""
    return {key: values for key, values in axes.items() if "dataset" not in given or not key.startswith("dataset.")}


class Start(NamedTuple):
    """A configuration that Hydra composes of choices, also as plain data if it does not refer to itself."""

    # ``free`` are the groups whose part of it is that of the chosen file alone, and is replaced by that of any other one.

    config: DictConfig
    plain: dict | None
    free: set[str]


class Composer:
    """Composes once per choice from a group, and sets values in the result as plain data: hundreds of times faster."""

    def __init__(self, composition: Composition, common: list[str], preset: str | None) -> None:
        given = [preset] if preset else []
        self._composition, self._common = composition, [*common, *given]
        self.with_hydra = composition.compose(self._common)
        self._value, self._start = functools.cache(self._read), functools.cache(self._compose)
        looks_elsewhere = any("hydra.searchpath" in text for text in common)  # than where parts are read
        self._groups = set() if looks_elsewhere else set(GROUPS)
        self._needed = {*GROUPS, *(composition.parse(text).key_or_group for text in given)}  # not so of several, of one group

    def __call__(self, point: Sequence[str]) -> Mapping:
        """Return the configuration with the overrides ``point``, others share its parts."""
        values = dict(filter(None, map(self._value, point)))
        choices = tuple(text for text in point if not self._value(text))
        config = _changed(self._put_together(choices), values)
        if config is None:
            config = copy.deepcopy(self._start(choices).config)
            for key, value in values.items():
                OmegaConf.update(config, key, value, merge=True)
        return config

    def canonical(self, point: Sequence[str]) -> dict:
        """Return the canonical configuration with the overrides ``point``; a key that it does not have is one line."""
        try:
            return canonical(self(point))
        except MissingConfigException:  # a name that nothing has, which fits nowhere
            raise
        except COMPOSING as error:
            raise explain(error) from error

    def _read(self, text: str) -> tuple[str, object] | None:
        """Return the key and the value that an override changes; None if it chooses from a group, adds or deletes."""
        override = self._composition.parse(text)
        is_value = override.type is OverrideType.CHANGE and not self._composition.names(override.key_or_group)
        return (override.key_or_group, override.value()) if is_value else None

    def _put_together(self, choices: tuple[str, ...]) -> dict | None:
        """Return a configuration as plain data, without composing what only replaces a part; None if it refers to itself."""
        named, parts = dict(text.partition("=")[::2] for text in choices), {}
        if named.keys() <= self._groups:  # others may also add or delete
            parts = {group: part for group, name in named.items() if (part := self._composition.part(group, name))}
        start = self._start(tuple(text for text in choices if text.partition("=")[0] not in parts))
        return start.plain and start.plain | parts if start.free.issuperset(parts) else self._start(choices).plain

    def _compose(self, choices: tuple[str, ...]) -> Start:
        """Return Hydra's reading of choices from groups, additions and deletions."""
        config = self._composition.compose([*self._common, *choices]) if choices else copy.deepcopy(self.with_hydra)
        chosen = {group: name for group, name in config.hydra.runtime.choices.items() if not group.startswith("hydra/")}
        with open_dict(config):
            del config["hydra"]
        plain = OmegaConf.to_container(config, resolve=False)
        if "${" in str(plain):
            return Start(config, None, set())
        own = {group for group in self._groups if plain.get(group) == self._composition.part(group, chosen.get(group))}
        says_more = {group for group in own if self._composition.says_more(chosen, group)}
        return Start(config, plain, own - says_more if chosen.keys() >= self._needed else set())


def _changed(config: dict | None, values: Mapping) -> dict | None:
    """Return a configuration with other values; None if OmegaConf has to check or resolve them."""
    if config is None:
        return None
    config = dict(config)
    for key, value in values.items():
        node, (*above, last) = config, key.split(".")
        for name in above:
            if not isinstance(node.get(name), dict):
                return None
            node[name] = dict(node[name])
            node = node[name]
        if last not in node or isinstance(node[last], dict) or not _is_plain(value):
            return None
        node[last] = value
    return config


def _is_plain(value) -> bool:
    """Return whether OmegaConf keeps a value unchanged: no mapping, which is merged, and no reference."""
    if isinstance(value, list):
        return all(map(_is_plain, value))
    return not isinstance(value, dict) and value != "???" and "${" not in str(value)


def _grids(config: DictConfig, composition: Composition) -> Iterator[Axes]:
    """Yield the grids of a preset, with the values of ``smoke`` if those are wanted."""
    sweeper = OmegaConf.to_container(config.hydra.sweeper, resolve=True)
    if "preset" not in sweeper:
        raise OptionError("an experiment cannot choose hydra/sweeper=optuna; give it as an argument")
    if sweeper["preset"] not in PRESETS:
        raise ParameterError(unknown("preset", sweeper["preset"], PRESETS))
    if not isinstance(sweeper["grids"], list) or not sweeper["grids"]:
        raise ParameterError(f"hydra.sweeper.grids must be a list of mappings, got {sweeper['grids']!r}")
    is_smoke = sweeper["preset"] == "smoke"
    smoke = _axes("smoke", sweeper["smoke"], composition)
    for grid in sweeper["grids"]:
        if not isinstance(grid, Mapping):
            raise ParameterError(f"hydra.sweeper.grids must map keys to values, got {grid!r}")
        axes = _axes("grids", {key: values for key, values in grid.items() if key != "smoke"}, composition)
        own = _axes("grids.smoke", grid.get("smoke", {}), composition)
        yield axes | smoke | own if is_smoke else axes


def _axes(name: str, grid, composition: Composition) -> Axes:
    if not isinstance(grid, Mapping):
        raise ParameterError(f"hydra.sweeper.{name} must map keys to values, got {grid!r}")
    for key in grid:
        if key in EXECUTION_KEYS or re.match(r"\W*hydra[/.]", str(key)):
            raise OptionError(f"hydra.sweeper.{name} cannot set {key}; set it on the command line")
    axes = {}
    for key, values in grid.items():
        axes[key] = [choice for text in texts(values) for choice in choices(composition.parse(f"{key}={text}"))]
        if not axes[key]:
            raise ParameterError(f"hydra.sweeper.{name}: {key} has no values")
    return axes


def texts(values) -> list[str]:
    """Return values of a key in YAML, a list or one, in Hydra's syntax; text is in it already."""
    return [text if isinstance(text, str) else quote(text) for text in (values if isinstance(values, list) else [values])]


def choices(override: Override) -> list[str]:
    """Return the overrides without a sweep that an override expands to."""
    if not override.is_sweep_override():
        return [override.input_line]
    if not override.is_discrete_sweep():
        raise OptionError(f"cannot sweep over {override.input_line!r}; list the values, or use range or choice")
    if override.value_type is ValueType.RANGE_SWEEP:
        values = override.value()
        try:
            _check_count((values.stop - values.start) / values.step)
        except (OverflowError, ZeroDivisionError):
            _check_count(math.inf)
        values.start, values.stop, values.step = map(_as_written, (values.start, values.stop, values.step))
    choices = [f"{override.get_key_element()}={value}" for value in override.sweep_string_iterator()]
    if not choices:
        raise ParameterError(f"{override.input_line!r} has no values")
    return choices


def _as_written(number: int | float) -> int | Decimal:
    """Return a bound of a range with 15 decimal digits: Hydra adds up floats, and 0.1 + 2 * 0.1 is 0.30000000000000004."""
    return number if isinstance(number, int) else Decimal(f"{number:.15g}")


def _check_count(count: float) -> None:
    """Reject a sweep of too many runs, before they are listed."""
    if not count <= MOST:
        raise ParameterError(f"a sweep has at most {MOST} runs, got {count:.10g}")
