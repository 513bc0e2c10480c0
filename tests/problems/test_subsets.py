"""Some examples of a problem answer as they do among all the others."""

import numpy as np
import pytest

import fwexp
from fwexp.distributed.worker import _answers
from fwexp.errors import ParameterError
from fwexp.problems import protocol
from fwexp.problems.subsets import subset
from tests import small_graphs, small_problems
from tests.problems import test_matching, test_pose

RNG = np.random.default_rng(5)
INDEX = np.array([4, 0, 3])


def graphs(labels, kind="dense"):
    rng = np.random.default_rng(1)
    return small_graphs.build(*small_graphs.random_arrays(rng, num_labels=labels), kind, num_labels=labels)


PROBLEMS = {
    **{form: lambda form=form: small_problems.chain(form, 0)[1] for form in small_problems.FORMS},
    "classes": lambda: fwexp.multiclass_problem(RNG.normal(size=(5, 3)), [0, 1, 2, 1, 0]),
    "nonnegative": lambda: fwexp.multiclass_problem(RNG.normal(size=(5, 3)), [0, 1, 2, 1, 0], nonnegative=slice(1, 4)),
    "matching": lambda: test_matching.build(*test_matching.random_arrays(np.random.default_rng(0)), "sparse"),
    "outputs": lambda: fwexp.enumerated_problem(*(getattr(small_problems.chain("dense", 1)[0], x) for x in ("psi", "loss"))),
    "graphs": lambda: graphs(2, "sparse"),
    "labelled graphs": lambda: graphs(3),
    "poses": lambda: test_pose.build(*test_pose.random_arrays(np.random.default_rng(0), n=5)),
    "weighted": lambda: fwexp.weighted_problem(small_problems.chain("csr", 0)[1], [1, 2, 3, 0, 5]),
    "weighted functions": lambda: fwexp.weighted_problem(small_problems.chain("functions", 0)[1], [1, 2, 3, 0, 5]),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_answers_are_those_of_the_examples(name):
    whole = PROBLEMS[name]()
    part = subset(whole, INDEX)
    assert (part.n, part.d, part.num_weights) == (3, whole.d, whole.num_weights)
    w = protocol.from_public(whole, np.zeros(whole.d))
    w += np.abs(RNG.normal(size=len(w))) * 0.3
    found = []
    for problem, examples in ((whole, INDEX), (part, np.arange(3))):
        losses, psi, norms = np.empty(3), np.zeros((3, len(w))), []
        work = protocol.workspace(problem)
        _answers.py_func(problem, examples, w, work, losses, psi)
        for i in examples:  # norms come from what families keep of their inputs, such as Gram matrices
            protocol.scores(problem, i, w, work.theta)
            value = protocol.max_oracle(problem, i, work.theta, work.y, work.scratch)
            protocol.clear(problem, i, work.direction)
            protocol.add_psi(problem, i, work.y, 1.0, work.direction)
            protocol.close(problem, i, work.direction)
            norms += [value, protocol.norm_sq(problem, i, work.direction), protocol.dot(problem, i, work.direction, work.theta)]
        found.append(np.concatenate((losses, psi.ravel(), norms)))
    assert np.array_equal(*found)
    assert losses.any()


def test_families_from_elsewhere_cannot_be_divided():
    other = type("Other", (tuple,), {})()
    with pytest.raises(ParameterError, match="problem must be of a family that can be divided, got Other"):
        subset(other, INDEX)
