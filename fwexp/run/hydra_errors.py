"""Hydra's errors, which take five to ten lines, as one line that names the bad value and the accepted ones."""

from pathlib import Path

from hydra.errors import HydraException, MissingConfigException, OverrideParseException
from omegaconf.errors import OmegaConfBaseException
from yaml import YAMLError

from fwexp.errors import OptionError, ParameterError, UserError, install, unknown
from fwexp.files.folders import exists
from fwexp.run.config import conf_dir, conf_dirs

COMPOSING = (HydraException, OmegaConfBaseException, YAMLError)  # raised while a configuration is composed


def explain(error: Exception) -> UserError:
    """Return the user's mistake behind an exception of Hydra or OmegaConf."""
    if isinstance(error, MissingConfigException) and error.missing_cfg_file:
        return _missing(error)
    if isinstance(error, OverrideParseException):
        lines = [line for line in str(error).splitlines()[1:] if not line.startswith("See ")]
        return OptionError(f"cannot read {error.override!r}, expected key=value" + "".join(f" ({line})" for line in lines))
    if isinstance(error, YAMLError):
        return OptionError(" ".join(str(error).split()))
    cause = error.__cause__ or error.__context__
    inner = error if isinstance(error, OmegaConfBaseException) else cause
    if isinstance(inner, OmegaConfBaseException) and inner.key is not None and "not in" in str(inner):
        return _bad_key(inner, error)
    text = str(error)
    if text.startswith("Ambiguous value for argument"):
        return OptionError(f"{text.splitlines()[0].split(maxsplit=4)[4]} has several values; -m runs them all")
    if "requires --multirun" in text:
        return OptionError(f"{_one_line(error)} (-m)")
    parts = dict.fromkeys(_one_line(part) for part in (error, cause) if part is not None)
    return OptionError(" ".join(filter(None, parts)))


def _missing(error) -> UserError:
    """Explain a name that is not in its group; groups may have folders, such as experiment/icml2013."""
    path = str(error.missing_cfg_file)
    if path.startswith("hydra/"):
        group, _, name = path.rpartition("/")
        names = ["fwexp", "optuna"] if group == "hydra/sweeper" else error.options or []
        extra = {"joblib": "parallel", "submitit_local": "submitit", "submitit_slurm": "submitit", "dask": "dask"}.get(name)
        hint = f"; {name} comes with {install(extra)}" if extra else ""
        return ParameterError(unknown(group, name, names) + hint)
    group, _, name = path.partition("/")
    folders = [folder / group for folder in conf_dirs()]
    files = {path.relative_to(folder) for folder in folders for path in folder.rglob("*.yaml")}
    names = {path.with_suffix("").as_posix() for path in files} | set(error.options or ())
    if not name:
        return ParameterError(f"there is no configuration {path!r} in {conf_dir()}")
    return ParameterError(unknown(group, name, names))


def _bad_key(inner, error: Exception) -> UserError:
    """Explain a key that the schema does not have; Hydra names the file of it."""
    parent = inner.parent_node
    full = inner.full_key or str(inner.key)
    prefix = full.removesuffix(str(inner.key))
    if full in ("dataset.validation", "dataset.validation_seed"):
        return OptionError(f"{full} needs a data set of examples, got one of a convex problem or saddle point")
    accepted = [prefix + str(key) for key in (parent or ()) if key not in ("hydra", "name")]
    text = str(error)
    where = ""
    if text.startswith("In '"):
        name = text.split("'")[1]
        files = [folder / f"{name}.yaml" for folder in conf_dirs()]
        where = next((f"{_shown(file)}: " for file in files if exists(file)), f"{name}: ")
    if not accepted:
        return OptionError(f"{where}unknown key {full!r}; {prefix.rstrip('.')} has no keys here")
    return OptionError(where + unknown("key", full, accepted))


def _shown(path: Path) -> str:
    """Return a path relative to the working directory where it lies below it."""
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)


def _one_line(error: BaseException) -> str:
    """Return the first line of an error's message."""
    return str(error).strip().split("\n")[0].strip()
