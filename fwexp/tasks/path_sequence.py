"""The iterations of regularisation paths: from lam_inf downwards, from break point to break point (see ``path``)."""

import math
from dataclasses import replace

from fwexp.problems.evaluation import Evaluator
from fwexp.problems.loss_terms import HINGE
from fwexp.problems.protocol import product
from fwexp.tasks.lam_sequence import LamSequence
from fwexp.tasks.path_bounds import BreakPoint, gap_alone, kept_mass, largest_gap, reach

LONG = 1e12  # <w, psi> of weights next to which losses do not matter
# From one break point to the next, the gap of the upper one alone may grow by (1 - kappa) eps over this share. Of 0.03 .. 0.15, the
# calls on 11 problems (chains, classes, matchings, images, oracles in Python) are fewest here; they differ by a seventh.
EXCESS = 0.04
TO_ZERO = 0.9  # At most this share of the growth to lam = 0 is taken at once: often no tiny lam is needed.


class PathSequence(LamSequence):
    """The regularisation path, from lam_inf down to ``lam_min``: of Osokin et al., or with intervals certified from both ends."""

    changes = (*LamSequence.changes, "lam_end", "points", "_images", "_latest", "_certified")

    def __init__(
        self, problem, options, seed, exact, eps: float, lam_min: float, kappa: float, objective=HINGE, two_sided=False
    ) -> None:
        super().__init__(problem, options, seed, exact, objective)
        self.eps, self.lam_min, self.kappa, self.two_sided = eps, lam_min, kappa, two_sided
        self.lam_end = math.inf  # smallest lam down to which the path is good enough
        self.points: list[BreakPoint] = []  # the largest lam first, as ``weights``
        self._images: list = []  # their u, or None where no further product with it is needed
        self._latest = self._certified = 0  # places of the latest point, and of the one down to which all intervals are certified

    def next_lam(self):
        if self.solver is None:
            self._start_at_corners()
            return
        lam = self._next_of_two_sided() if self.two_sided else self._next_published()
        self._images[: self._certified] = [None] * self._certified
        if lam is None:
            self.finished = True
            return
        if lam > self.solver.lam or (self.two_sided and kept_mass(lam, self.points[self._latest]) == 1.0):
            self.begin(lam, warm_start=self.solver)  # with the same dual variables
        else:
            self.solver.change_lam(lam)  # with the same w
        self.reach(self.kappa * self.eps)

    def _next_published(self) -> float | None:
        """Return where the gap will have grown to eps, lam_end = rho lam; None if that is the end."""
        self._certified, point = len(self.points) - 1, self.solver.point("last")
        delta = point.dual - 0.5 * self.solver.lam * float(point.w @ point.w)
        room = self.eps - self.solver.known_gap
        self.lam_end = 0.0 if delta <= room else self.solver.lam * (1.0 - max(room, 0.0) / delta)
        return self.lam_end if self.lam_end > self.lam_min else None

    def _next_of_two_sided(self) -> float | None:
        """Return the middle of the first interval that is too long or, if there is none, a smaller lam; None at the end."""
        while self._certified + 1 < len(self.points):
            a, b = self.points[self._certified : self._certified + 2]
            if largest_gap(a, b) > self.eps:
                return math.sqrt(a.lam * b.lam)
            self._certified += 1
        last = self.points[-1]
        self.lam_end = reach(last, self.eps)
        gap = gap_alone(last.lam, last)
        growth = min((1.0 - self.kappa) * self.eps / EXCESS, TO_ZERO * (last.hinge - gap))
        return max(self.lam_min, reach(last, gap + growth)) if self.lam_end > self.lam_min else None

    def arrive(self):
        super().arrive()
        lam, (w, dual, *_), image = self.solver.lam, self.solver.point("last"), self.solver.lam * self.solver.dual_weights()
        norm_sq, image_sq = product(w, w), product(image, image)
        hinge, ell = dual + self.gap - 0.5 * lam * norm_sq, dual + image_sq / (2.0 * lam)
        k = self._latest = sum(point.lam >= lam for point in self.points)
        self.points.insert(k, BreakPoint(lam, hinge, norm_sq, ell, image_sq))
        self.weights.insert(k, self.weights.pop())
        self._images.insert(k, image)
        for j in range(max(k - 1, 0), min(k + 1, len(self.points) - 1)):
            products = (product(vectors[j], vectors[j + 1]) for vectors in (self.weights, self._images))
            self.points[j] = self.points[j]._replace(**dict(zip(("with_next", "dual_with_next"), products, strict=True)))

    def _start_at_corners(self) -> None:
        """Start at lam_inf and a_inf, or at lam_min where that is larger."""
        plain = {"accelerate": False} if hasattr(self.options, "accelerate") else {}
        self.begin(1.0, options=replace(self.options, **plain))
        psi = self.solver.full_step()  # at w = 0; with lam = 1 the result is psi~
        scale, bounds = float(psi @ psi) and LONG / float(psi @ psi), None
        if not scale:
            lam = 0.0
        elif self.margin < 1.0:
            bounds = self.solver.fresh_gaps(scale) / scale
            lam = bounds.mean() / (self.kappa * self.eps)
        else:
            # The max-oracle finds max_y -<w, psi_i(y)> <= H_i(w), for losses do not matter where w is long.
            lam = (psi @ psi + Evaluator(self.problem)(scale * psi, error=False).hinge / scale) / (self.kappa * self.eps)
        self._before[1] += self.problem.n
        self.begin(max(lam, self.lam_min), warm_start=self.solver)
        self.gap = self.solver.exact_gap()
        self.arrive()
        if bounds is not None:
            # As in the published code; the exact gaps, which are at most these, are in the row only.
            self.solver.use_gap_bounds(bounds / self.solver.lam)
