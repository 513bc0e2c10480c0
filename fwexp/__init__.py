"""fwexp: Frank-Wolfe methods for structural SVMs - train, certify, and reproduce the papers' experiments."""

from importlib import import_module
from pathlib import Path

# In a checkout conf/, experiments/ and plots/ stand next to this folder; in a wheel they are inside.
if (Path(__file__).parents[1] / "conf" / "config.yaml").is_file():
    __path__.append(str(Path(__file__).parents[1]))

__version__ = "0.1.0"

# Where each public name lives; modules are imported when a name is first used, for numba alone takes half a second.
_HOME = {
    "CallbackProblem": "fwexp.problems.callback",
    "Result": "fwexp.tasks.result",
    "chain_marginals": "fwexp.problems.known_scores",
    "chain_problem": "fwexp.problems.chain",
    "decode_chain": "fwexp.problems.known_scores",
    "enumerated_problem": "fwexp.problems.enumerated",
    "evaluate": "fwexp.api",
    "grid_search": "fwexp.tasks.grid",
    "joint_feature": "fwexp.api",
    "load": "fwexp.tasks.result",
    "load_dataset": "fwexp.data",
    "load_results": "fwexp.store.results",
    "load_run": "fwexp.store.models",
    "loss": "fwexp.api",
    "matching_problem": "fwexp.problems.matching",
    "max_oracle": "fwexp.api",
    "multiclass_problem": "fwexp.problems.multiclass",
    "pose_problem": "fwexp.problems.pose",
    "predict": "fwexp.api",
    "regularization_path": "fwexp.tasks.path",
    "segmentation_problem": "fwexp.problems.segmentation",
    "solve": "fwexp.api",
    "sweep": "fwexp.run.from_python",
    "weighted_problem": "fwexp.problems.weighted",
}

_MODULES = ("convex", "data", "distributed", "estimators", "predictor")  # that need no import of their own

__all__ = ["__version__", *_HOME]


def __getattr__(name: str):
    if name in _MODULES:
        return import_module(f"fwexp.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'fwexp' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted([*__all__, *_MODULES])
