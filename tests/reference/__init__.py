"""Slow, literal numpy transcriptions of the papers' algorithms, for tests.

Nothing here imports the package under test. Problems are enumerated (`TinyProblem`), every w_i is a vector in R^d,
every iterate is stored, and every random choice is an argument.
"""

# ruff: noqa: F401

from .active_set import STEP_FUNCTIONS, State
from .averages import avg, tavg, wavg
from .block_solver import block_fw, chi, improvement_factor
from .exact_blocks import exact_ascent
from .exponentiated_gradient import online_eg
from .frank_wolfe import bcfw, degraded_oracle, dual_points, fw, ssg
from .path import lam_infinity, published_path
from .problem import (
    TinyProblem,
    block_curvature,
    brute_force,
    chain_feature,
    chain_labelings,
    chain_potentials,
    curvature_bound,
    dual,
    dual_matrices,
    dual_value,
    from_features,
    loss_term,
    primal,
    random_chains,
    slack_rescaled,
    start,
    tiny_binary,
    tiny_chain,
    tiny_multiclass,
    viterbi,
    weights,
)
from .qp import qp_optimum, simplex_qp
