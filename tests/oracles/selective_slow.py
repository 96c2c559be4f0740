"""Slow, obvious twins of selective prediction: every order of tied answers, every threshold."""

import itertools
import math
from fractions import Fraction

import numpy as np


def orders(scores):
    """Yield every order of the answers in which scores do not increase."""
    levels = sorted(set(scores), reverse=True)
    groups = [[i for i, s in enumerate(scores) if s == level] for level in levels]
    for parts in itertools.product(*(itertools.permutations(group) for group in groups)):
        yield [i for part in parts for i in part]


def expected_errors(scores, correct):
    """Mean number of errors among the first k answers, k = 1 to n, over all orders."""
    total, count = [Fraction(0)] * len(scores), 0
    for order in orders(scores):
        errors, count = 0, count + 1
        for k, i in enumerate(order):
            errors += 1 - int(correct[i])
            total[k] += errors
    return [x / count for x in total]


def aurc(scores, correct):
    errors = expected_errors(scores, correct)
    return float(sum(e / (k + 1) for k, e in enumerate(errors)) / len(errors))


def augrc(scores, correct):
    errors = expected_errors(scores, correct)
    return float(sum(errors) / len(errors) ** 2)


def best(correct):
    """AURC and AUGRC of the order with all errors last."""
    order = list(range(len(correct)))[::-1]
    ranked = sorted(correct, reverse=True)
    return aurc(order, ranked), augrc(order, ranked)


def random_order(correct):
    """AURC and AUGRC of a constant score, without going through all orders."""
    n, rate = len(correct), 1 - np.mean(correct)
    return rate, rate * (n + 1) / (2 * n)


def risk_at_coverage(scores, correct, coverage):
    """Expected errors at a share of answers, straight between whole numbers, over the share."""
    errors = [Fraction(0), *expected_errors(scores, correct)]
    wanted = Fraction(coverage).limit_denominator(1000) * len(scores)
    below = math.floor(wanted)
    value = errors[below]
    if wanted > below:
        value += (wanted - below) * (errors[below + 1] - errors[below])
    return float(value / wanted)


def coverage_at_risk(scores, correct, risk):
    """Largest k with an expected share of errors of at most the risk."""
    errors = expected_errors(scores, correct)
    allowed = Fraction(risk).limit_denominator(1000)
    good = [k + 1 for k, e in enumerate(errors) if e <= allowed * (k + 1)]
    return max(good, default=0) / len(scores)


def thresholds(scores, correct):
    """Coverage and risk at every threshold, from the highest down."""
    points = []
    for cut in sorted(set(scores), reverse=True):
        given = np.asarray(scores) >= cut
        points.append((given.mean(), 1 - np.asarray(correct)[given].mean()))
    return np.array(points).T


def risk_at_coverage_whole(scores, correct, coverage):
    shares, risks = thresholds(scores, correct)
    return risks[np.argmax(shares >= coverage - 1e-12)]


def coverage_at_risk_whole(scores, correct, risk):
    shares, risks = thresholds(scores, correct)
    return max(shares[risks <= risk + 1e-12], default=0.0)


def trapezoid(shares, risks):
    """Straight lines between thresholds; at coverage zero the risk of the highest one."""
    return np.trapezoid([risks[0], *risks], [0.0, *shares])


def hull_area(shares, risks):
    """Area when thresholds that another pair of thresholds dominates are left out.

    Between the thresholds kept, answers are given at random, so that errors grow linearly and the
    risk is their number over that of answers, integrated.
    """
    points = [(0.0, 0.0), *zip(shares, shares * risks, strict=True)]
    kept = []
    for point in points:  # lower convex hull of errors over coverage
        while len(kept) > 1 and _right_turn(kept[-2], kept[-1], point):
            kept.pop()
        kept.append(point)
    area = kept[1][1]  # from zero to the first threshold the risk is constant
    for (x0, e0), (x1, e1) in itertools.pairwise(kept[1:]):
        slope = (e1 - e0) / (x1 - x0)
        area += (e1 - e0) + (e0 - slope * x0) * math.log(x1 / x0)
    return area


def _right_turn(a, b, c):
    return (b[1] - a[1]) * (c[0] - a[0]) >= (c[1] - a[1]) * (b[0] - a[0]) - 1e-15


def weighted_aurc(scores, correct, weights):
    """AURC of whole weights: each answer stands in as many rows as it weighs."""
    rows = [i for i, w in enumerate(weights) for _ in range(int(w))]
    return aurc([scores[i] for i in rows], [correct[i] for i in rows])
