"""Functions that a solver may ask of a problem: every solver calls only these.

A problem family is a ``NamedTuple`` of C-contiguous arrays with the fields ``n``, ``d`` (length of the public w),
``num_weights`` (length of the internal w), ``part_ptr`` (int64 (n + 1,): example i has ``part_ptr[i+1] - part_ptr[i]``
part scores), ``label_ptr`` (int64 (n + 1,), the same for the labels of its labeling) and ``labels`` (int32, the true
ones). Where some weights must not be negative, ``nonnegative`` (int64, ascending) has their indices among the internal ones.

A family registers an implementation of each function of the tier ``required``. Solvers ask for further tiers by their names:
``sets`` (of labelings), ``expectations``, ``kernels``, ``bounds``, ``enumeration`` and ``exact``. What else is in ``derived``,
``labelings`` and ``weights`` a family registers only where it has something faster. All can be imported from here;
``fwexp.problems.tiers`` lists the functions of a family.

Each function declares by ``@degree`` how the weight c_i of an example enters it (``degrees``); there is no default. A named tuple
whose class also derives from ``fwexp.problems.subsets.Sliceable`` has subsets.

The joint features are linear in short vectors of parts: psi_i(y) = F_i' p_i(y), where p_i(y) holds the parts of the true
labeling minus those of y. A dual block is therefore kept as its expected parts (never as w_i in R^d), a step costs
O(parts + nonzeros of the example), and with theta = F_i w every inner product with w is one with theta.
Source: Taskar, Guestrin and Koller, "Max-margin Markov networks", NIPS 2003 (marginals).

Parameters
----------
problem : problem
    Of the family.
i : int
    The example, from 0.
w : ndarray (num_weights,)
    Internal weights.
theta : ndarray
    Part scores F_i w, as `scores` sets them: of example i the first ``part_ptr[i+1] - part_ptr[i]``.
y : ndarray, int32
    A labeling, in the form that the family keeps it.
scratch : ndarray
    ``Workspace.scratch``.
direction : ndarray
    A vector of parts, in the form that the family keeps it.
c : float
    A factor.
blocks : ndarray
    Vectors of parts of all examples, of `new_blocks`.
labelings : ndarray
    One labeling per example, of `new_labelings`.
total : ndarray
    One of the running sums of `new_sums`.
"""

# Whole files: a function that is added to one of them is in the protocol.
from fwexp.problems.protocol.declared import *  # noqa: F403
from fwexp.problems.protocol.derived import *  # noqa: F403
from fwexp.problems.protocol.labelings import *  # noqa: F403
from fwexp.problems.protocol.weights import *  # noqa: F403
