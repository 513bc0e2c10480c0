"""Scheme ``local``, for cheap oracles: workers keep the dual blocks of their parts, and take the steps themselves.

    1  v = A a, with the shift of ``acceleration``, is sent to all K parts
    2  each takes steps of its own blocks, around v, with K times the curvature: lam/K instead of lam
    3  v <- v + (sum of their changes of v) / K,   since a change of a block moves v there K times as far

Added updates (CoCoA+, Ma, Smith, Jaggi, Jordan, Richtarik and Takac, ICML 2015, with sigma' = K). With s_k the change of A a by
part k, v + sum_k s_k is the mean of the v + K s_k that the workers see, and ||max(., 0)||^2 is convex: as none of them lowers
the dual of its own problem, their sum does not lower the dual, with constraints on weights or without. With less curvature
it diverges. With K = 1 this is ``bcfw``, step by step.

What is lost with a worker comes back from the latest copy of its blocks, or begins anew; w, and the losses, are then computed
from the blocks of all parts.
"""

import uuid
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from fwexp.blocks import projections
from fwexp.blocks.acceleration import OBSERVED, Acceleration, acceleration_strength, observed_strength
from fwexp.blocks.block_loop import ORACLE_CALLS, STEPS_TAKEN, Iterate, new_iterate
from fwexp.blocks.centres import ProximalCentre
from fwexp.distributed import worker
from fwexp.distributed.schemes import Scheme
from fwexp.problems.protocol import radii_sq
from fwexp.problems.sparse_vector import add_to
from fwexp.solvers.base import Counted, Stop

FAN_IN = 8  # changes that are summed at one place


@dataclass
class LocalState(Counted):
    """The state of a run; it has copies of the dual blocks."""

    lam: float
    iterate: Iterate  # its losses and gaps are sums over parts: of n ell_i, and of G_i times K/n; its blocks are on workers
    centre: ProximalCentre | None
    first_centre: float
    passes: float  # so far, of every part
    met: np.ndarray  # float64 (K,), mean ||psi_i(y)||^2 of the labelings met
    done: np.ndarray  # int64 (K,), steps
    rounds: np.ndarray  # int64 (K,): the state of the blocks
    blocks: list[dict | None]  # the latest copies
    next_copy: float  # in passes
    copied: np.ndarray  # int64 (K,), rounds of the latest copies, or since blocks were lost
    lost: np.ndarray  # int64 (2,), how often blocks of a part were, and the rounds that they had taken since
    sent: int = 0  # bytes of v and its changes


class LocalAcceleration(Acceleration):
    """Acceleration with curvatures that are K times as large, so that lam n acts as if it were K times smaller."""

    def strength(self, run):
        kap, shards = self.options.kap, self.problem
        root = np.sqrt(shards.k)
        if kap == OBSERVED:
            return root * observed_strength(float(np.average(run.state.met, weights=shards.sizes)), shards.n, run.lam)
        if kap is None:
            kap = acceleration_strength(radii_sq(shards), run.lam)
            return None if kap is None else root * kap
        return kap


class Local(Scheme):
    """Block-coordinate Frank-Wolfe on workers, whose updates are added."""

    name = "bcfw"
    title = "block-coordinate Frank-Wolfe with dual blocks on workers"

    def prepare(self):
        """Set up no buffers, which only workers need."""
        self.setting = self.options.setting()
        self.acceleration = LocalAcceleration(self.problem, self.setting.accelerate, knows_gaps=False)
        self.events = ()

    def start(self, seed, iterates, order, warm_start):
        k, self._seed = self.problem.k, seed
        iterate = new_iterate(self.problem, None, projections.new_projection(self.problem), np.zeros(k))
        self.state = LocalState(
            lam=self.lam,
            iterate=iterate._replace(gaps=np.full(k, np.inf)),
            centre=None,
            first_centre=np.inf,
            passes=0.0,
            met=np.zeros(k),
            done=np.zeros(k, dtype=np.int64),
            rounds=np.zeros(k, dtype=np.int64),
            blocks=[None] * k,
            next_copy=self.options.snapshot,
            copied=np.zeros(k, dtype=np.int64),
            lost=np.zeros(2, dtype=np.int64),
        )
        self._begin(range(k))
        self.acceleration.schedule(self)

    def restore(self, state):
        super().restore(state)
        self._begin(range(self.problem.k))

    # --- parts ---

    def _begin(self, parts) -> None:
        """Send parts the copies of their blocks under a new name, so that earlier answers are recognised as outdated."""
        self._run_key = uuid.uuid4().hex if len(parts) == self.problem.k else self._run_key
        options = {"sampling": self.options.sampling, "step": self.options.step}
        self.problem.gather(
            "start",
            lambda k: (self._place(k), options, self._seed if k == 0 else [self._seed, k], self.state.blocks[k]),
            parts,
        )

    def _begin_again(self, parts: list[int]) -> None:
        """Restart parts whose blocks were lost."""
        state = self.state
        state.lost += len(parts), (state.rounds - state.copied)[parts].sum()
        state.copied[parts] = state.rounds[parts]
        self._begin(parts)

    @property
    def lost(self):
        return {name: int(count) for name, count in zip(("parts", "rounds"), self.state.lost) if self.state.lost[0]}

    def _place(self, k: int) -> tuple:
        return self._run_key, int(self.state.rounds[k])

    def _ask_blocks(self, name: str, *args) -> tuple[dict, bool]:
        """Return the states of the blocks of all parts, and whether some of these were lost before."""
        lost = False
        while True:
            found = self.problem.gather(name, lambda k: (self._place(k), *args))
            missing = set(range(self.problem.k)) - found.keys()
            if not missing:
                return found, lost
            lost = True
            self._begin_again(sorted(missing))

    def saved(self):
        self._copy_blocks()
        return self.state

    def _copy_blocks(self) -> None:
        found, lost = self._ask_blocks("state")
        self.state.blocks = [found[k] for k in range(self.problem.k)]
        self.state.copied[:] = self.state.rounds
        if lost:
            self._recompute()

    def _image(self) -> tuple[np.ndarray, np.ndarray, bool]:
        """Return A a and the sums of n ell_i, computed from the blocks of all parts, and whether some were lost before."""
        found, lost = self._ask_blocks("image", 1.0 / (self.lam * self.problem.n))
        images = [found[k] for k in range(self.problem.k)]
        return sum(image for image, _ in images), np.array([losses for _, losses in images]), lost

    def _recompute(self) -> None:
        """Compute w and the losses from the blocks."""
        image, losses, _ = self._image()
        state = self.state
        state.iterate.losses[:] = losses
        state.iterate.ell[0] = losses.sum() / self.problem.n
        v = image if state.centre is None else state.centre.shifted(image)
        projections.set_weights(state.iterate.constraint, v, state.iterate.w)

    # --- steps ---

    def advance(self, budget):
        state, counts, n = self.state, self.state.iterate.counts, self.problem.n
        calls = int(np.ceil(self.options.round * n))  # of a round: logging must not change where rounds end
        while max(counts[ORACLE_CALLS], counts[STEPS_TAKEN]) + calls <= min(budget.calls, budget.steps):
            steps = state.passes * n + 0.5  # as if no part had rounded
            if steps >= state.first_centre:
                self.acceleration.begin(self)
            if state.centre is not None and steps >= state.centre.next_step:
                self.acceleration.apply(self)
            if state.passes >= state.next_copy:
                self._copy_blocks()
                state.next_copy = state.passes + self.options.snapshot
            next_centre = self.acceleration.next_centre(state)
            self._round(min(state.passes + self.options.round, next_centre / n))
        return Stop(calls_needed=calls)

    def _round(self, passes: float) -> None:
        """Run a round: advance every part by so many passes."""
        state, iterate, sizes, k = self.state, self.state.iterate, self.problem.sizes, self.problem.k
        # 1, 2
        v = projections.unclipped(state.iterate.constraint, iterate.w).copy()
        steps = np.floor(passes * sizes + 1e-9).astype(np.int64) - state.done
        lams = self.inner_lam * self.problem.n / (k * sizes)  # curvatures are 1 over lam times the examples of the part
        done = self._collect(lambda j: (self._place(j), j, v, float(lams[j]), int(steps[j])))
        # 3
        add_to(v, 1.0 / k, done.change)
        projections.set_weights(state.iterate.constraint, v, iterate.w)
        for j, (taken, called, losses, gaps, met, sent) in done.taken.items():
            iterate.counts[STEPS_TAKEN] += taken
            iterate.counts[ORACLE_CALLS] += called
            iterate.losses[j], iterate.gaps[j], state.met[j] = losses, gaps * k / self.problem.n, met
            state.rounds[j] += 1
            state.sent += sent
        iterate.ell[0] = iterate.losses.sum() / self.problem.n
        state.done += steps
        state.passes = passes
        state.sent += k * v.nbytes
        lost = sorted(set(range(k)) - done.taken.keys())
        if lost:
            state.lost[1] += len(lost)  # the rounds that they did not take just now
            self._begin_again(lost)
            self._recompute()

    def _collect(self, args) -> worker.Round:
        """Run a round on all parts and return its results, summed over a tree; lost ones are left out."""
        shards, found = self.problem, None
        if shards.k > FAN_IN:
            level = [shards.submit(k, "round", *args(k)) for k in range(shards.k)]
            while len(level) > FAN_IN:
                level = [
                    shards.client.submit(worker.merge, level[j : j + FAN_IN], pure=False) for j in range(0, len(level), FAN_IN)
                ]
            with suppress(*worker.FAULTS):  # a round that was taken is answered again, and not taken again
                found = [shards.result(0, future) for future in level]
        if found is None:
            found = list(shards.gather("round", args).values())
        done = worker.merge(found)
        return worker.Round({}, np.zeros(shards.num_weights)) if isinstance(done, worker.Lost) else done

    def note_new_centre(self) -> None:
        """Ignore the new centre: workers receive w in every round."""

    # --- the interface of an iteration ---

    def extras(self):
        return {"bytes_sent": float(self.state.sent)}

    def exact_dual(self):
        known = self.point("last").dual
        image, losses, lost = self._image()
        if lost:  # the blocks are older now; known gaps of lost blocks stay valid
            self._recompute()
            return known
        return self.dual_objective(losses.sum() / self.problem.n, self.clip(image))
