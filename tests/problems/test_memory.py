"""Memory follows the sum of the lengths: one long sequence among short ones, long chains, and blocks that grow on demand."""

import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

import fwexp
from fwexp import memory
from fwexp.blocks.active_set import ActiveSets
from fwexp.driver.iteration import Budget
from fwexp.problems import chain, protocol, sparse_blocks
from fwexp.problems.kernel_features import KINDS, Kernel, kernelised
from fwexp.solvers import SOLVERS
from fwexp.testing import check_problem
from tests.small_problems import ARRAYS, as_form, at_start, inputs

LENGTHS = (1, 2, 3, 5)


def with_and_without_gram(monkeypatch, build):
    """Return the same problem twice: with the Gram matrices of all sequences, and with those of one or two positions only."""
    both = SimpleNamespace(gram=build())
    monkeypatch.setattr(chain, "LONGEST_GRAM", 2)
    both.direct = build()
    assert 0 < len(both.direct.gram) < len(both.gram.gram)
    return both


def nbytes(value) -> int:
    """Bytes of all arrays in nested tuples."""
    return value.nbytes if isinstance(value, np.ndarray) else sum(map(nbytes, value)) if isinstance(value, tuple) else 0


def one_long_one(form, T, n, K, p=6, seed=0):
    """One sequence of length T among n of 1 and 2 positions."""
    rng = np.random.default_rng(seed)
    lengths = [T, *rng.integers(1, 3, size=n)]
    rng.shuffle(lengths)
    X = rng.normal(size=(sum(lengths), p)) if form == "dense" else 1.0 * (rng.random((sum(lengths), p)) < 0.5)
    y, ends = rng.integers(K, size=len(X)), np.cumsum(lengths)[:-1]
    X = np.split(X, ends) if form == "dense" else [sp.csr_array(x) for x in np.split(X, ends)]
    return fwexp.chain_problem(X, np.split(y, ends), K)


@pytest.mark.parametrize("form", ARRAYS)
def test_long_sequences_keep_the_promises_of_the_protocol(monkeypatch, form):
    monkeypatch.setattr(chain, "LONGEST_GRAM", 2)
    check_problem(as_form(form, *inputs(form, 0, n=3, K=3, p=5, lengths=(1, 2, 3)), 3))


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"step": "corrective"}])
@pytest.mark.parametrize("form", ARRAYS)
def test_iterates_without_gram_are_those_with_it(monkeypatch, form, options):
    X, y = inputs(form, 3, n=12, K=3, p=5, lengths=LENGTHS)
    both = with_and_without_gram(monkeypatch, lambda: as_form(form, X, y, 3))
    # sums in another order: equal up to rounding as long as it decides nothing
    got, wanted = (fwexp.solve(p, "bcfw", lam=0.1, max_passes=3, gap_tol=0, **options) for p in (both.direct, both.gram))
    np.testing.assert_allclose(got.w, wanted.w, atol=1e-9)


@pytest.mark.parametrize("form", ARRAYS)
def test_bounds_without_gram_are_no_lower_and_the_same_for_inputs_of_one_sign(monkeypatch, form):
    X, y = inputs(form, 4, n=12, K=3, p=5, lengths=LENGTHS)
    for one_sign in (False, True):
        given = [-np.abs(x) for x in X] if one_sign and form != "binary" else X
        with monkeypatch.context() as patch:
            both = with_and_without_gram(patch, lambda given=given: as_form(form, given, y, 3))
        radii, wanted = protocol.radii_sq(both.direct), protocol.radii_sq(both.gram)
        assert (radii >= wanted * (1 - 1e-12)).all()
        if one_sign:
            np.testing.assert_allclose(radii, wanted, rtol=1e-12)


@pytest.mark.parametrize("kind", range(len(KINDS)))
def test_kernels_need_no_gram_either(monkeypatch, kind):
    X, y = inputs("dense", 1, n=6, K=3, p=4, lengths=LENGTHS)
    plain, rng = as_form("dense", X, y, 3), np.random.default_rng(0)
    both = with_and_without_gram(monkeypatch, lambda: kernelised(plain, plain, Kernel(kind, 2, 0.3, 1.0)))
    radii = [protocol.radii_sq(problem) for problem in (both.direct, both.gram)]
    assert (radii[0] >= radii[1] * (1 - 1e-12)).all()
    for i in range(plain.n):
        values = []
        z = rng.integers(3, size=len(y[i])).astype(np.int32)
        for problem in (both.direct, both.gram):
            work = protocol.workspace(problem)
            protocol.clear(problem, i, work.direction)
            protocol.add_psi(problem, i, z, 0.7, work.direction)
            protocol.close(problem, i, work.direction)
            protocol.gram_scores(problem, i, work.direction, work.image)
            values.append([protocol.norm_sq(problem, i, work.direction), protocol.psi_score(problem, i, z, work.image)])
        np.testing.assert_allclose(values[0], values[1], atol=1e-12)


def test_a_sequence_without_any_nonzero_input_needs_no_columns(monkeypatch):
    monkeypatch.setattr(chain, "LONGEST_GRAM", 2)
    problem = fwexp.chain_problem([sp.csr_array((4, 3)), sp.csr_array(np.eye(3))], [[0, 1, 1, 0], [0, 1, 1]])
    check_problem(problem)
    assert fwexp.solve(problem, lam=0.1, max_passes=200, gap_tol=1e-6).status == "converged"


@pytest.mark.parametrize("form", ["dense", "binary"])
def test_problems_and_blocks_take_bytes_per_position(form):
    """Constant bytes per position and sequence, for any longest one, in addition to the bytes of the inputs."""
    problem = one_long_one(form, 3000, 2000, 50)
    positions, n = len(problem.labels), problem.n
    assert nbytes(problem) <= 2 * nbytes(problem.x) + 24 * n + (12 + 4 * (chain.LONGEST_GRAM + 1)) * positions
    blocks = protocol.new_blocks(problem)
    assert nbytes(blocks) <= 24 * (n + 1) + 12 * max(sparse_blocks.SMALLEST_POOL, sparse_blocks.FIRST_ROOM * positions)


@pytest.mark.slow
def test_blocks_grow_with_what_is_in_use(monkeypatch):
    monkeypatch.setattr(sparse_blocks, "FIRST_ROOM", 1)
    monkeypatch.setattr(sparse_blocks, "SMALLEST_POOL", 64)
    problem = one_long_one("dense", 300, 200, 20)
    solver = at_start("bcfw", problem, 1e-3)
    solver.advance(Budget(30 * problem.n, 10**9))
    blocks = solver.state.iterate.dual.blocks
    assert blocks.count.sum() > len(problem.labels)  # so they had to grow
    # rooms, and then the pool, are at most twice what a step could need when they were made
    assert len(blocks.codes) <= 4 * (blocks.count.sum() + 4 * len(problem.labels))
    assert (blocks.count <= blocks.room).all()
    order = np.argsort(blocks.first)
    assert (np.diff(blocks.first[order]) >= blocks.room[order][:-1]).all()  # no two share a place


@pytest.mark.parametrize("options", [{"step": "corrective"}, {"step": "pairwise", "cache": True}, {"step": "away"}])
def test_active_sets_allocate_no_blocks(options):
    problem = one_long_one("dense", 5, 3, 3)
    for warm_start in (None, at_start("bcfw", problem, 0.1, **options)):
        solver = at_start("bcfw", problem, 0.1, warm_start=warm_start, **options)
        assert isinstance(solver.state.iterate.dual, ActiveSets)
        assert solver.state.cache is None


@pytest.mark.parametrize("options", [{}, {"cache": True}, {"sampling": "gap"}])
def test_growth_of_blocks_changes_nothing(monkeypatch, options):
    problem = one_long_one("dense", 12, 10, 4)
    wanted = fwexp.solve(problem, "bcfw", lam=1e-3, max_passes=10, gap_tol=0, **options)
    monkeypatch.setattr(sparse_blocks, "FIRST_ROOM", 0)
    monkeypatch.setattr(sparse_blocks, "SMALLEST_POOL", 1)
    got = fwexp.solve(problem, "bcfw", lam=1e-3, max_passes=10, gap_tol=0, **options)
    np.testing.assert_array_equal(got.w, wanted.w)
    assert got.trace.step.tolist() == wanted.trace.step.tolist()
    assert got.trace.oracle_calls.tolist() == wanted.trace.oracle_calls.tolist()
    again = fwexp.solve(problem, "bcfw", lam=1e-3, max_passes=2, gap_tol=0, warm_start=got, **options)
    same = fwexp.solve(problem, "bcfw", lam=1e-3, max_passes=2, gap_tol=0, warm_start=wanted, **options)
    np.testing.assert_array_equal(again.w, same.w)


def test_full_blocks_are_an_error_not_a_write_past_the_end(monkeypatch):
    monkeypatch.setattr(sparse_blocks, "FIRST_ROOM", 0)
    monkeypatch.setattr(sparse_blocks, "SMALLEST_POOL", 0)
    problem = one_long_one("dense", 5, 3, 3)
    work, blocks = protocol.workspace(problem), protocol.new_blocks(problem)
    i = int(np.argmax(np.diff(problem.label_ptr)))
    assert not protocol.has_room(problem, i, blocks)
    wrong = (problem.labels[problem.label_ptr[i] : problem.label_ptr[i + 1]] + 1) % 3
    protocol.set_direction(problem, i, wrong, blocks, work.direction)
    with pytest.raises(MemoryError, match="blocks are full"):
        protocol.add_to_block(problem, i, work.direction, 1.0, blocks)
    blocks = protocol.copy_blocks(problem, blocks)
    assert protocol.has_room(problem, i, blocks)
    protocol.add_to_block(problem, i, work.direction, 1.0, blocks)


LIMITED = """
import resource
import numpy as np, scipy.sparse as sp, fwexp

rng = np.random.default_rng(0)

def problem(lengths, K, p=200):
    ends, m = np.cumsum(lengths), sum(lengths)
    X = sp.csr_array((np.ones(5 * m), (np.repeat(np.arange(m), 5), rng.integers(p, size=(m, 5)).ravel())), shape=(m, p))
    X.sum_duplicates(), X.data.fill(1.0)
    starts = ends - lengths
    return fwexp.chain_problem([X[a:b] for a, b in zip(starts, ends)], [rng.integers(K, size=T) for T in lengths], K)

SOLVERS = {"bcfw": {}, "fw": {}, "ssg": {}, "auto": {}, "one_slack": {}, "pairwise": {"step": "pairwise"}}

def solve_all(problem):
    for name, options in SOLVERS.items():
        result = fwexp.solve(problem, "bcfw" if options else name, lam=0.01, max_passes=2, **options)
        assert np.isfinite(result.primal), name

solve_all(problem([200, 1, 3], 3))  # compiles, for problems with a sequence that is too long for a Gram matrix
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 400_000_000,) * 2)
solve_all(problem([2000, *[1] * 3000], 30))  # a block of the longest for each: 2.5 GB
solve_all(problem([12_000], 4))  # a Gram matrix: 576 MB
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="limits of the address space are tested on Linux")
def test_long_sequences_fit_into_a_small_address_space():
    done = subprocess.run([sys.executable, "-c", LIMITED], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-2000:]


def test_what_does_not_fit_is_refused_before_it_is_begun(monkeypatch):
    X, y = inputs("dense", 0, n=30)
    problem = fwexp.chain_problem(X, y)
    need = SOLVERS["bcfw"].memory(problem, SOLVERS["bcfw"].Options(cache=True), ("last",))
    assert need > SOLVERS["bcfw"].memory(problem, SOLVERS["bcfw"].Options(), ("last",)) > memory.nbytes(np.zeros((3, problem.n)))
    monkeypatch.setattr(memory, "UNCHECKED_BYTES", 0)
    monkeypatch.setattr(memory, "available", lambda: need - 1)
    with pytest.raises(
        MemoryError, match=r"^training on ChainProblem\(n=30, .* needs at least \S+ MB of memory, and \S+ MB are available$"
    ):
        fwexp.solve(problem, "bcfw", lam=0.1, cache=True)
    monkeypatch.setattr(memory, "available", lambda: memory.nbytes(problem.gram) - 1)
    with pytest.raises(MemoryError, match="Gram matrices"):
        fwexp.chain_problem(X, y)
    monkeypatch.undo()
    assert memory.available() > need


def test_a_limit_of_the_process_is_known():
    code = "import resource, fwexp.memory as m; resource.setrlimit(resource.RLIMIT_AS, (2**30, 2**30)); print(m.available())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 0 < float(done.stdout) < 2**30
