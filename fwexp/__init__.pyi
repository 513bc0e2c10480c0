# What type checkers read instead of __init__.py; tests/texts/test_typing.py compares the imports with its _HOME.
from fwexp import convex as convex
from fwexp import data as data
from fwexp import distributed as distributed
from fwexp import estimators as estimators
from fwexp import predictor as predictor
from fwexp.api import evaluate as evaluate
from fwexp.api import joint_feature as joint_feature
from fwexp.api import loss as loss
from fwexp.api import max_oracle as max_oracle
from fwexp.api import predict as predict
from fwexp.api import solve as solve
from fwexp.data import load_dataset as load_dataset
from fwexp.problems.callback import CallbackProblem as CallbackProblem
from fwexp.problems.chain import chain_problem as chain_problem
from fwexp.problems.enumerated import enumerated_problem as enumerated_problem
from fwexp.problems.known_scores import chain_marginals as chain_marginals
from fwexp.problems.known_scores import decode_chain as decode_chain
from fwexp.problems.matching import matching_problem as matching_problem
from fwexp.problems.multiclass import multiclass_problem as multiclass_problem
from fwexp.problems.pose import pose_problem as pose_problem
from fwexp.problems.segmentation import segmentation_problem as segmentation_problem
from fwexp.problems.weighted import weighted_problem as weighted_problem
from fwexp.run.from_python import sweep as sweep
from fwexp.store.models import load_run as load_run
from fwexp.store.results import load_results as load_results
from fwexp.tasks.grid import grid_search as grid_search
from fwexp.tasks.path import regularization_path as regularization_path
from fwexp.tasks.result import Result as Result
from fwexp.tasks.result import load as load

__version__: str
