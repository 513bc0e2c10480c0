"""The sources that made a run, so that a run of older sources does not pass for one of the present ones.

Every ``run.json`` names the modules that its run started from and the digest of these and their imports. A run is stale if that
digest differs from the digest of the present sources, or is missing.
"""

from collections.abc import Iterable, Mapping
from functools import cache

from fwexp import plugin_files
from fwexp.files import code_digest

COMMON = ("fwexp.driver", "fwexp.oracles", "fwexp.problems")
# Modules that list others, show something or look after files, and change no number: else a run would depend on all there is.
LISTS = ("fwexp", "fwexp.data", "fwexp.data.dataset", "fwexp.solvers", "fwexp.tasks")
SHOWS = ("fwexp.plugin_files", "fwexp.plugins", "fwexp.driver.progress", "fwexp.errors")
KEPT = ("atomic", "caches", "code_digest", "folders", "locks", "owned", "processes")
KEEPS = tuple(f"fwexp.files.{name}" for name in KEPT)


def made_by(modules: Iterable[str]) -> dict:
    """Return what ``run.json`` records of the sources of a run that starts from these modules: ``modules`` and ``sha256``."""
    modules = sorted({*modules, *COMMON})
    return {"modules": modules, "sha256": current(tuple(modules))}


def is_stale(record: Mapping) -> bool:
    """Return whether a ``run.json`` names other sources than the present ones, or none."""
    sources = record.get("sources") or {}
    return not sources or sources["sha256"] != current(tuple(sources["modules"]))


@cache
def current(modules: tuple[str, ...]) -> str:
    """Return the digest of modules, and all they import, as their sources are now."""
    return code_digest.digest(modules, without={*LISTS, *SHOWS, *KEEPS} - set(modules), deferred=True)


plugin_files.ON_CHANGE += [code_digest.forget, current.cache_clear]  # An edited plugin file is another module.
