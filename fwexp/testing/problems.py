"""Checks of a training problem, one short function per promise; the public face is ``fwexp.testing``.

Functions of the protocol are called in plain Python and compared with vectors in R^d that are written out here; the last
check compares compiled code with plain Python.
"""

import numpy as np
import scipy.sparse as sp

from fwexp.problems import kernel_features, protocol, tiers  # noqa: F401  the first has functions of the protocol, too
from fwexp.problems.evaluation import Evaluator
from fwexp.problems.python_labelings import snapshot
from fwexp.testing.probe import TOL, close, require, value_of


def has_the_protocol(probe):
    """Check that the functions of all stated tiers exist, sizes are positive and arrays are contiguous."""
    problem = probe.problem
    family, stated = type(protocol.original(problem)).__name__, tiers.stated(problem)
    unknown = [tier for tier in stated if tier not in tiers.TIERS]
    require(not unknown, f"{family}.tiers must hold names of {', '.join(tiers.TIERS)}, got {', '.join(unknown)}")
    for tier, names in tiers.TIERS.items():
        lacking = tiers.lacking(problem, tier)
        begun = [name for name in names if name not in lacking and object not in getattr(protocol, name).implementations]
        if tier == tiers.REQUIRED:
            require(not lacking, f"{family} does not register {', '.join(lacking)}")
        elif begun or tier in stated:
            which = "but " + ", ".join(begun) if begun else "which it states in its attribute tiers"
            require(not lacking, f"{family} does not register {', '.join(lacking)} of the tier {tier}, {which}")
            require(tier in stated, f"{family} must state the tier {tier} in its attribute tiers, got {stated}")
    for name in ("n", "d", "num_weights"):
        value = getattr(problem, name)
        require(isinstance(value, (int, np.integer)) and value > 0, f"{name} must be a positive integer, got {value!r}")
    for name, value in problem._asdict().items() if isinstance(problem, tuple) else ():
        require(not isinstance(value, np.ndarray) or value.flags.c_contiguous, f"the array {name} must be C-contiguous")


def weights_survive_the_round_trip(probe):
    """Check that ``to_public`` inverts ``from_public``, and that both keep the norm."""
    for w in probe.weights:
        internal = protocol.from_public(probe.problem, w)
        require(internal.shape == (probe.problem.num_weights,), f"from_public must have shape (num_weights,), got {internal.shape}")
        require(np.array_equal(protocol.to_public(probe.problem, internal), w), "to_public(from_public(w)) must be w")
        require(close(internal @ internal, w @ w), "from_public(w) must have the norm of w")


def truth_costs_nothing(probe):
    """Check that L_i(y_i) = 0 and psi_i(y_i) = 0."""
    for i in probe.examples:
        truth = probe.truth(i)
        require(probe.loss(i, truth) == 0, f"the loss of the true labeling of example {i} must be 0, got {probe.loss(i, truth)}")
        require(not probe.psi(i, truth).any(), f"psi of the true labeling of example {i} must be 0")
        for t, entry in enumerate(probe.raw(i, probe.labelings[i][-1])):  # another labeling may leave its entries in the buffer
            probe.work.y[t] = entry
        protocol.true_labeling(probe.problem, i, probe.work.y)
        require(not probe.psi_of(i, probe.work.y).any(), f"true_labeling({i}) must write a labeling whose psi is 0")


def losses_are_nonnegative(probe):
    """Check that L_i(y) is >= 0 and finite."""
    for i, y in probe.pairs():
        require(0 <= probe.loss(i, y) < np.inf, f"loss({i}, y) must be finite and >= 0, got {probe.loss(i, y)}")


def joint_features_give_psi(probe):
    """Check that psi_i(y) is phi(x_i, y_i) - phi(x_i, y), or L_i(y) times that (slack rescaling)."""
    margin = slack = True
    for i, y in probe.pairs():
        phi = [protocol.joint_feature(probe.problem, i, probe.raw(i, z)) for z in (probe.truth(i), y)]
        require(phi[1].shape == (1, probe.problem.d), f"joint_feature must have shape (1, {probe.problem.d}), got {phi[1].shape}")
        difference, psi = (phi[0] - phi[1]).toarray().ravel(), probe.psi(i, y)
        c = protocol.example_weight(probe.problem, i)  # which a product of two holds twice
        margin, slack = margin and close(psi, difference), slack and close(c * psi, probe.loss(i, y) * difference)
        require(margin or slack, f"scatter_psi of example {i} must add phi(x, truth) - phi(x, y)")


def oracle_returns_its_value(probe):
    """Check that ``max_oracle`` returns H_i(w) = L_i(y) - <w, psi_i(y)> >= 0 of the labeling that it writes."""
    for i in probe.examples:
        for w in probe.weights:
            y, value = probe.oracle(i, w)
            wanted, size = probe.value(i, y, w)
            require(close(value, wanted, size), f"max_oracle({i}) must return L - <w, psi> = {wanted}, got {value}")
            require(value >= -TOL * size, f"H_{i}(w) must be >= 0, got {value}")


def oracle_finds_the_maximum(probe):
    """Check that no labeling has a higher L_i(y) - <w, psi_i(y)> than that of an exact ``max_oracle``."""
    for i in probe.examples if probe.exact else ():
        terms = [(y, probe.loss(i, y), probe.psi(i, y)) for y in probe.labelings[i]]
        for w in probe.weights:
            best = probe.oracle(i, w)[1]
            for y, loss, psi in terms:
                value, size = value_of(loss, psi, w)
                require(value <= best + TOL * size, f"max_oracle({i}) found {best}, but {list_of(y)} has {value}")


def decoding_finds_the_maximum(probe):
    """Check that no labeling has a higher score than the prediction of an exact oracle."""
    for i in probe.examples if probe.decodes and probe.exact else ():
        phi = [protocol.joint_feature(probe.problem, i, probe.raw(i, y)) for y in probe.labelings[i]]
        for w in probe.weights:
            y = probe.decode(i, w)
            own = protocol.joint_feature(probe.problem, i, probe.raw(i, y))
            size = 1.0 + float((abs(own) @ np.abs(w)).item())
            best = max(float((features @ w).item()) for features in phi)
            require((own @ w).item() >= best - TOL * size, f"decode({i}) found {(own @ w).item()}, but another labeling has {best}")


def oracles_leave_their_inputs_alone(probe):
    """Check that oracles change neither w nor theta, and return the same when called again."""
    for i in probe.examples:
        for w in probe.weights:
            internal = protocol.from_public(probe.problem, w)
            before = internal.copy()
            protocol.scores(probe.problem, i, internal, probe.work.theta)
            theta = np.array(probe.work.theta)
            answers = []
            for _ in range(2):
                protocol.max_oracle(probe.problem, i, probe.work.theta, probe.work.y, probe.work.scratch)
                answers.append(protocol.public_labeling(probe.problem, i, probe.work.y))
                if probe.decodes:
                    protocol.decode(probe.problem, i, probe.work.theta, probe.work.y, probe.work.scratch)
            require(np.array_equal(internal, before), f"oracles of example {i} must not change w")
            require(np.array_equal(np.array(probe.work.theta), theta), f"oracles of example {i} must not change theta")
            require(probe.same(*answers), f"max_oracle({i}) must return the same labeling when called again")


def functions_return_new_objects(probe):
    """Check that later calls with other arguments do not change objects that functions returned."""
    for name in probe.functions and ["features", *probe.functions]:
        function, held, content = getattr(probe.problem, name), [], numbers if name == "features" else probe.key
        for k, (i, y) in enumerate(probe.pairs()):
            answer = function(i, snapshot(y) if name == "features" else probe.weights[k % len(probe.weights)].copy())
            held.append((i, answer, content(answer)))
        for i, answer, before in held:
            require(content(answer) == before, f"{name}({i}, ...) must return a new object, not one that later calls change")


def labelings_are_stored(probe):
    """Check that stored labelings are those that ``store_labeling`` was given."""
    storage = protocol.new_labelings(probe.problem)
    for _ in range(2):
        for i in probe.examples:
            protocol.store_labeling(probe.problem, i, probe.raw(i, probe.labelings[i][-1]), storage)
    for i in probe.examples:
        back = protocol.public_labeling(probe.problem, i, protocol.stored_labeling(probe.problem, i, storage))
        require(probe.same(back, probe.labelings[i][-1]), f"the stored labeling of example {i} must come back, got {list_of(back)}")
        psi = probe.psi_of(i, protocol.stored_labeling(probe.problem, i, storage))
        require(close(psi, probe.psi(i, back)), f"the stored labeling of example {i} must have the psi of the one that was stored")


def labelings_are_told_apart(probe):
    """Check that ``same_labeling`` recognises a stored labeling, and no other, if the family has sets."""
    if not tiers.has(probe.problem, "sets"):
        return
    lengths = np.diff(protocol.labeling_ptr(probe.problem))
    for i in probe.examples:
        length, labelings = int(lengths[i]), probe.labelings[i]
        storage = protocol.new_storage(probe.problem, len(labelings) * length)
        for a, y in enumerate(labelings):
            raw = probe.raw(i, y)
            for t in range(length):
                storage[a * length + t] = raw[t]
        for y in labelings[:8]:
            for a, other in enumerate(labelings):
                told = bool(protocol.same_labeling(probe.problem, i, probe.raw(i, y), storage, a * length))
                require(
                    told == probe.same(y, other), f"same_labeling({i}) must tell {list_of(y)} from {list_of(other)}, got {told}"
                )


def parts_have_the_inner_products_of_features(probe):
    """Check that psi_score, dot, norm_sq, rescale, gram_scores and scatter agree with psi_i(y) written out."""
    problem = probe.problem
    has_sets = tiers.has(problem, "sets")
    for k, (i, y) in enumerate(probe.pairs()):
        psi, w, c = probe.psi(i, y), probe.weights[k % len(probe.weights)], 0.5 + k % 3
        size = 1.0 + float(np.abs(psi) @ np.abs(w))
        theta = probe.theta(i, w)
        score = protocol.psi_score(problem, i, probe.raw(i, y), theta)
        require(close(score, psi @ w, size), f"psi_score({i}) must be <w, psi>, got {score}")
        direction = probe.parts(i, y, c)
        require(close(protocol.dot(problem, i, direction, theta), c * (psi @ w), c * size), f"dot({i}) must be <direction, w>")
        require(close(protocol.norm_sq(problem, i, direction), c * c * (psi @ psi)), f"norm_sq({i}) must be ||F' direction||^2")
        require(close(probe.image(i, direction), c * psi), f"scatter({i}) must add F' direction")
        protocol.rescale(problem, i, -2.0, theta)
        scaled = protocol.psi_score(problem, i, probe.raw(i, y), theta)
        require(close(scaled, -2.0 * (psi @ w), 2.0 * size), f"rescale({i}) must multiply the scores")
        if has_sets:
            other = probe.labelings[i][0 if k % 2 else -1]
            protocol.gram_scores(problem, i, direction, probe.work.image)
            product = protocol.psi_score(problem, i, probe.raw(i, other), probe.work.image)
            require(close(product, c * (probe.psi(i, other) @ psi)), f"gram_scores({i}) must give <psi(y), F' direction>")


def blocks_move_towards_corners(probe):
    """Check that blocks start at 0 and follow ``add_to_block``, as vectors in R^d do."""
    problem, rng = probe.problem, np.random.default_rng(probe.seed)
    blocks = protocol.new_blocks(problem)
    rows = {i: np.zeros(problem.d) for i in probe.examples}
    for step in range(8 * len(probe.examples)):
        i = probe.examples[step % len(probe.examples)]
        y = probe.labelings[i][rng.integers(len(probe.labelings[i]))]
        gamma = (0.0, 0.25, 1.0, rng.random())[rng.integers(4)]
        if not protocol.has_room(problem, i, blocks):
            blocks = protocol.copy_blocks(problem, blocks)
        protocol.set_direction(problem, i, probe.raw(i, y), blocks, probe.work.direction)
        wanted = probe.psi(i, y) - rows[i]
        require(close(probe.image(i, probe.work.direction), wanted), f"set_direction({i}) must be p(y) minus the block")
        norm_sq = protocol.norm_sq(problem, i, probe.work.direction)
        require(close(norm_sq, wanted @ wanted), f"norm_sq({i}) of a direction must be ||F' direction||^2, got {norm_sq}")
        protocol.add_to_block(problem, i, probe.work.direction, gamma, blocks)
        rows[i] = rows[i] + gamma * wanted
    copy = protocol.copy_blocks(problem, blocks)
    for i in probe.examples:
        for here in (blocks, copy):
            w = np.zeros(problem.num_weights)
            protocol.scatter_block(problem, i, here, 2.0, w)
            require(close(protocol.to_public(problem, w), 2.0 * rows[i]), f"scatter_block({i}) must add F' block")
    total = protocol.to_public(problem, protocol.blocks_to_weights(problem, blocks, 0.5))
    require(close(total, 0.5 * sum(rows.values())), "blocks_to_weights must sum the blocks of all examples up")


def sums_keep_what_is_added(probe):
    """Check that ``scatter_sum`` returns the sum of the accumulated vectors."""
    problem, rng = probe.problem, np.random.default_rng(probe.seed)
    sums, wanted = protocol.new_sums(problem, 2), np.zeros((2, problem.d))
    for i, y in probe.pairs():
        for j in range(2):
            c = rng.normal()
            protocol.accumulate(problem, i, probe.parts(i, y), c, sums[j])
            protocol.accumulate_psi(problem, i, probe.raw(i, y), 2.0 * c, sums[j])
            wanted[j] += 3.0 * c * probe.psi(i, y)
    for total, vector in zip(sums, wanted, strict=True):
        w = np.ones(problem.num_weights)
        protocol.scatter_sum(problem, total, -0.5, w)
        change = protocol.to_public(problem, w) - protocol.to_public(problem, np.ones(problem.num_weights))
        require(close(change, -0.5 * vector), "scatter_sum must add c times what was accumulated")


def radii_bound_the_features(probe):
    """Check that ``radii_sq``, if the family has it, is at least ||psi_i(y)||^2."""
    if tiers.has(probe.problem, "bounds"):
        radii = protocol.radii_sq(probe.problem)
        for i, y in probe.pairs():
            norm_sq = float(probe.psi(i, y) @ probe.psi(i, y))
            require(norm_sq <= radii[i] * (1 + TOL) + TOL, f"radii_sq[{i}] must be at least ||psi||^2 = {norm_sq}, got {radii[i]}")


def best_blocks_have_no_gap(probe):
    """Check that no labeling has a higher L_i(y) - <w, psi_i(y)> at the best block than the block on average."""
    problem, work = probe.problem, probe.work
    if not tiers.has(problem, "exact") or not protocol.has_best_block(problem):
        return
    for k, w in enumerate(probe.weights):
        blocks, c = protocol.new_blocks(problem), 0.1 + k % 3
        for i in probe.examples:
            mean_loss = protocol.best_block(problem, i, probe.theta(i, w), c, blocks, work.direction, work.scratch)
            way = probe.image(i, work.direction)
            there = w + c * way
            gap = probe.oracle(i, there)[1] - (mean_loss - way @ there)
            size = 1.0 + mean_loss + np.abs(way) @ np.abs(there)
            require(abs(gap) <= TOL * size, f"best_block({i}) must leave no gap, got {gap}")


def evaluation_agrees_with_single_calls(probe):
    """Check that the evaluation of all examples agrees with single calls in plain Python."""
    evaluator = Evaluator(probe.problem)
    for k, w in enumerate(probe.weights):
        errors = np.empty(probe.problem.n if probe.decodes else 0)
        values = evaluator.oracles(protocol.from_public(probe.problem, w), errors)[0]
        for i in probe.examples:
            y, value = probe.oracle(i, w)
            size = probe.value(i, y, w)[1]
            # from a tie an inexact one may go another way
            agree = close(values[i], value, size) or not (probe.exact or k in probe.random_weights)
            require(agree, f"H_{i} must be the same compiled and in plain Python, got {values[i]}, {value}")
            if probe.decodes and k in probe.random_weights:  # elsewhere predictions may tie
                error = probe.loss(i, probe.decode(i, w))
                require(close(errors[i], error), f"the loss of the prediction of example {i} must be {error}, got {errors[i]}")


def list_of(y):
    """Return y in a form for messages."""
    return y.tolist() if isinstance(y, np.ndarray) else y


def numbers(features):
    """Return features as numbers that do not change."""
    return (features.toarray() if sp.issparse(features) else np.asarray(features)).tolist()


PROBLEM_CHECKS = (
    has_the_protocol,
    weights_survive_the_round_trip,
    truth_costs_nothing,
    losses_are_nonnegative,
    joint_features_give_psi,
    oracle_returns_its_value,
    oracle_finds_the_maximum,
    decoding_finds_the_maximum,
    oracles_leave_their_inputs_alone,
    functions_return_new_objects,
    labelings_are_stored,
    labelings_are_told_apart,
    parts_have_the_inner_products_of_features,
    blocks_move_towards_corners,
    sums_keep_what_is_added,
    radii_bound_the_features,
    best_blocks_have_no_gap,
    evaluation_agrees_with_single_calls,
)
