"""Protocol of problems of Python functions: there are no parts, so theta is w itself, and a vector of parts one of features.

Buffers are lists with one entry, for objects cannot be written into.
"""

import numpy as np

from fwexp import lazy_sparse as sp
from fwexp.problems import protocol
from fwexp.problems.callback import CallbackProblem
from fwexp.problems.known_labelings import Rows
from fwexp.problems.python_labelings import PythonProblem, equal_labelings, snapshot
from fwexp.problems.sparse_vector import SparseVector, add_to, values_of


@protocol.costly_oracle.register(PythonProblem)
def _(problem):
    return True


@protocol.forget.register(PythonProblem)
def _(problem):
    problem.forget()


@protocol.ask_ahead.register(CallbackProblem)
def _(problem, start, end, w, augmented, plain):
    for name, wanted in (("max_oracle", augmented), ("decode", plain)):
        if wanted:
            problem.ask_ahead(name, start, end, w)


@protocol.kernel_view.register(PythonProblem)
def _(problem):
    return Rows(problem)


@protocol.workspace.register(PythonProblem)
def _(problem):
    return protocol.Workspace(theta=[None], direction=[None], image=[None], y=[None], scratch=None)


@protocol.scores.register(PythonProblem)
def _(problem, i, w, theta):
    theta[0] = w


@protocol.rescale.register(PythonProblem)
def _(problem, i, c, theta):
    theta[0] = c * theta[0]


@protocol.max_oracle.register(PythonProblem)
def _(problem, i, theta, y, scratch):
    y[0], value = problem.augmented(i, theta[0])
    return value


@protocol.decode.register(PythonProblem)
def _(problem, i, theta, y, scratch):
    y[0] = problem.predicted(i, theta[0])


@protocol.loss.register(PythonProblem)
def _(problem, i, y):
    return problem.task_loss(i, y[0])


@protocol.true_labeling.register(PythonProblem)
def _(problem, i, y):
    y[0] = problem.y[i]


@protocol.labeling_ptr.register(PythonProblem)
def _(problem):
    return problem.label_ptr


@protocol.store_labeling.register(PythonProblem)
def _(problem, i, y, labelings):
    labelings[i] = y[0]


@protocol.new_storage.register(PythonProblem)
def _(problem, size):
    return [None] * size


@protocol.same_labeling.register(PythonProblem)
def _(problem, i, y, storage, start):
    return equal_labelings(storage[start], y[0], problem.key)


@protocol.as_labeling.register(PythonProblem)
def _(problem, i, y):
    return [snapshot(y)]


@protocol.public_labeling.register(PythonProblem)
def _(problem, i, y):
    return snapshot(y[0])


@protocol.new_blocks.register(PythonProblem)
def _(problem):
    return [None] * problem.n  # None is 0


@protocol.copy_blocks.register(PythonProblem)
def _(problem, blocks):
    return list(blocks)


@protocol.clear.register(PythonProblem)
def _(problem, i, direction):
    direction[0] = None


@protocol.add_psi.register(PythonProblem)
def _(problem, i, y, c, direction):
    change = c * problem.psi(i, y[0])
    direction[0] = change if direction[0] is None else direction[0] + change


@protocol.close.register(PythonProblem)
def _(problem, i, direction):
    if direction[0] is None:
        direction[0] = np.zeros(problem.num_weights)


@protocol.psi_score.register(PythonProblem)
def _(problem, i, y, theta):
    return float(problem.psi(i, y[0]) @ theta[0])


@protocol.gram_scores.register(PythonProblem)
def _(problem, i, direction, theta):
    theta[0] = np.zeros(problem.num_weights)
    add_to(theta[0], 1.0, direction[0])


@protocol.set_direction.register(PythonProblem)
def _(problem, i, y, blocks, direction):
    psi = problem.psi(i, y[0])
    direction[0] = psi if blocks[i] is None else psi - blocks[i]


@protocol.dot.register(PythonProblem)
def _(problem, i, direction, theta):
    return float(direction[0] @ theta[0])


@protocol.norm_sq.register(PythonProblem)
def _(problem, i, direction):
    vector = values_of(direction[0])
    return float(vector @ vector)


@protocol.add_to_block.register(PythonProblem)
def _(problem, i, direction, c, blocks):
    change = c * direction[0]
    blocks[i] = change if blocks[i] is None else blocks[i] + change


@protocol.scatter.register(PythonProblem)
def _(problem, i, direction, c, w):
    add_to(w, c, direction[0])


@protocol.scatter_psi.register(PythonProblem)
def _(problem, i, y, c, w):
    add_to(w, c, problem.psi(i, y[0]))


@protocol.scatter_block.register(PythonProblem)
def _(problem, i, blocks, c, w):
    if blocks[i] is not None:
        add_to(w, c, blocks[i])


@protocol.new_sums.register(PythonProblem)
def _(problem, count):
    return np.zeros((count, problem.num_weights))


@protocol.accumulate.register(PythonProblem)
def _(problem, i, direction, c, total):
    add_to(total, c, direction[0])


@protocol.accumulate_psi.register(PythonProblem)
def _(problem, i, y, c, total):
    add_to(total, c, problem.psi(i, y[0]))


@protocol.scatter_sum.register(PythonProblem)
def _(problem, total, c, w):
    w += c * total


@protocol.joint_feature.register(PythonProblem)
def _(problem, i, y):
    phi = problem.phi(i, y[0])
    if isinstance(phi, SparseVector):
        return sp.csr_array((phi.values, phi.indices, [0, len(phi.indices)]), shape=(1, problem.d))
    return sp.csr_array(phi[None])
