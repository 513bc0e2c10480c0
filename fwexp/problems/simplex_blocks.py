"""The best shares of the labels of one input, each with weights of its own: a projection onto the simplex.

With a_k the share of label k, L_k its loss, theta_k its score, and a block of parts [k = truth] - a_k, n times the dual is

    sum_k (L_k + theta_k) a_k - mass/2 ||a - a_old||^2 + constant,    mass = ||x||^2/(lam n),

so that with z_k = L_k + theta_k - mass block_k the best shares are

    mass a_k = max(z_k + mass [k = truth] - level, 0),    sum_k a_k = 1.

While the truth has a share, the level is the mean of z_k over the labels that have one. It is found as that, without ``mass``:
where inputs are long, the shares of wrong labels are smaller than the rounding of 1.
"""

from fwexp.jit.compilation import oracle_part

SMALLEST = 1e-300  # a smaller mass is 0: the dual is linear
LOWEST = -1e300  # below every level


@oracle_part
def to_best_shares(z, count, truth, mass):
    """Turn the z_k into the best shares, in place, and the share of the truth into the sum of the others."""
    # Newton's method on the level, from below: labels lose their shares until none does any more.
    highest = z[0]
    for k in range(1, count):
        highest = max(highest, z[k])
    if mass < SMALLEST:
        best = 0
        while z[best] != highest:
            best += 1
        for k in range(count):
            z[k] = 1.0 if k == best != truth else 0.0
        z[truth] = 0.0 if best == truth else 1.0
        return
    for k in range(count):  # relative to it no level is lost in the rounding of scores
        z[k] -= highest
    own, z[truth] = z[truth], LOWEST
    level, before = max(own, -mass), count + 1
    while True:
        total, shares = 0.0, 0
        for k in range(count):
            total += z[k] if z[k] > level else 0.0
            shares += z[k] > level
        kept = own + mass > level
        shares += kept
        if shares >= before:  # also where rounding gives one back
            break
        before, level = shares, (total + own if kept else total - mass) / shares
    total = 0.0
    for k in range(count):
        z[k] = max(z[k] - level, 0.0) / mass
        total += z[k]
    z[truth] = total
