"""Slow, literal numpy transcriptions of the papers' algorithms, for tests.

Nothing here imports the package under test. Problems are enumerated (`TinyProblem`), every w_i is a vector in R^d,
every iterate is stored, and every random choice is an argument.
"""

# ruff: noqa: F401

from .active_set import STEP_FUNCTIONS, State
from .averages import Path, Run, avg, last_power_of_two, make_run, tavg, wavg
from .block_solver import BlockRun, block_fw, cached_corner, chi, improvement_factor, inverse_cdf
from .exact_blocks import Ascent, exact_ascent
from .exponentiated_gradient import EGRun, online_eg
from .frank_wolfe import Query, bcfw, bcfw_dual, clipped_step, degraded_oracle, exact_oracle, fw, ssg
from .kernel import KernelRun, chain_kernel, kernel_bcfw, kernel_fw, multiclass_kernel, psi_gram
from .path import change_lam, gap_slope, lam_infinity
from .problem import (
    TinyProblem,
    block_curvature,
    block_gaps,
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
from .qp import Optimum, qp_optimum, simplex_qp
