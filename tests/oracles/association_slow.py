"""Slow, obvious twins of association: pairs of answers one by one, derivatives by differences."""

import itertools
import math

import numpy as np

from tests.oracles import normal


def pairs(scores, correct, weights=None):
    """Weight of pairs (correct, wrong) in order, against it, and tied."""
    weights = np.ones(len(scores)) if weights is None else weights
    up = down = tied = 0.0
    for i, j in itertools.product(range(len(scores)), repeat=2):
        if correct[i] == 1 and correct[j] == 0:
            weight = weights[i] * weights[j]
            up += weight * (scores[i] > scores[j])
            down += weight * (scores[i] < scores[j])
            tied += weight * (scores[i] == scores[j])
    return up, down, tied


def area(scores, correct, weights=None):
    up, down, tied = pairs(scores, correct, weights)
    return (up + tied / 2) / (up + down + tied)


def gamma(scores, correct, weights=None):
    up, down, _ = pairs(scores, correct, weights)
    return (up - down) / (up + down) if up + down else math.nan


def somers_d(scores, correct, weights=None):
    up, down, tied = pairs(scores, correct, weights)
    return (up - down) / (up + down + tied)


def tau_b(scores, correct, weights=None):
    """Pairs of any two answers, without those tied on one of the variables."""
    weights = np.ones(len(scores)) if weights is None else weights
    up, down, _ = pairs(scores, correct, weights)
    untied = [0.0, 0.0]
    for i, j in itertools.product(range(len(scores)), repeat=2):
        for place, values in enumerate((scores, correct)):
            untied[place] += weights[i] * weights[j] * (values[i] != values[j]) / 2
    return (up - down) / math.sqrt(untied[0] * untied[1])


def average_precision(scores, correct, weights=None):
    """Share of correct answers among all at or above the score of each correct answer."""
    weights = np.ones(len(scores)) if weights is None else weights
    total = 0.0
    for i in range(len(scores)):
        if correct[i] == 1:
            above = scores >= scores[i]
            total += weights[i] * (weights * correct)[above].sum() / weights[above].sum()
    return total / (weights * correct).sum()


def average_precision_of_errors(scores, correct, weights=None):
    return average_precision(-scores, 1 - correct, weights)


def point_biserial(scores, correct, weights=None):
    weights = np.ones(len(scores)) if weights is None else weights
    return np.cov(scores, correct, aweights=weights, ddof=0)[0, 1] / math.sqrt(
        np.cov(scores, aweights=weights, ddof=0) * np.cov(correct, aweights=weights, ddof=0)
    )


STATISTICS = {
    "AUROC": area,
    "gamma": gamma,
    "Somers' d": somers_d,
    "tau-b": tau_b,
    "average precision": average_precision,
    "average precision of errors": average_precision_of_errors,
    "point-biserial correlation": point_biserial,
}


def sandwich_se(statistic, scores, correct, clusters, step=1e-5):
    """Move the weight of one answer at a time, sum what that moves over clusters, square.

    The square is divided by one less the cluster's share of the answers, for no bias (CR2).
    """
    n = len(scores)
    moved = np.empty(n)
    for i in range(n):
        weights = np.ones(n)
        weights[i] += step
        up = statistic(scores, correct, weights)
        weights[i] -= 2 * step
        moved[i] = (up - statistic(scores, correct, weights)) / (2 * step)
    moved -= moved.mean()
    inside = [np.array(clusters) == cluster for cluster in sorted(set(clusters))]
    return math.sqrt(sum(moved[own].sum() ** 2 / (1 - own.mean()) for own in inside))


def phi(tp, fp, fn, tn):
    said = [1] * tp + [1] * fp + [0] * fn + [0] * tn
    right = [1] * tp + [0] * fp + [1] * fn + [0] * tn
    if len(set(said)) < 2 or len(set(right)) < 2:
        return math.nan
    return float(np.corrcoef(said, right)[0, 1])


def kappa(tp, fp, fn, tn):
    n = tp + fp + fn + tn
    if n == 0:
        return math.nan
    seen = (tp + tn) / n
    chance = (tp + fp) / n * (tp + fn) / n + (fn + tn) / n * (fp + tn) / n
    return (seen - chance) / (1 - chance) if chance < 1 else math.nan


def youden(tp, fp, fn, tn):
    if tp + fn == 0 or fp + tn == 0:
        return math.nan
    return tp / (tp + fn) + tn / (fp + tn) - 1


def type2(tp, fp, fn, tn):
    """d', c and the standard error of d', with half an answer more in each cell."""
    if tp + fn == 0 or fp + tn == 0:
        return math.nan, math.nan, math.nan
    hit, alarm = (tp + 0.5) / (tp + fn + 1), (fp + 0.5) / (fp + tn + 1)
    z_hit, z_alarm = normal.ppf(hit), normal.ppf(alarm)
    variance = hit * (1 - hit) / ((tp + fn) * normal.pdf(z_hit) ** 2)
    variance += alarm * (1 - alarm) / ((fp + tn) * normal.pdf(z_alarm) ** 2)
    return z_hit - z_alarm, -(z_hit + z_alarm) / 2, math.sqrt(variance)


def delta_se(statistic, cells, step=1e-4):
    """Standard error of a function of four counts, its derivatives taken by differences."""
    variance = 0.0
    for place in range(4):
        up, down = list(cells), list(cells)
        up[place] += step
        down[place] -= step
        slope = (statistic(*up) - statistic(*down)) / (2 * step)
        variance += cells[place] * slope**2
    return math.sqrt(variance)


def roc(scores, correct, false_alarms):
    """Straight lines between the points of all thresholds, the upper end where it is vertical."""
    right, wrong = scores[correct == 1], scores[correct == 0]
    cuts = sorted(set(scores), reverse=True)
    points = [(0.0, 0.0), *((np.mean(wrong >= cut), np.mean(right >= cut)) for cut in cuts)]
    found = []
    for x in false_alarms:
        at = [y for f, y in points if math.isclose(f, x, abs_tol=1e-12)]
        if at:
            found.append(max(at))
            continue
        left = max(p for p in points if p[0] < x)
        beyond = min(p for p in points if p[0] > x)
        share = (x - left[0]) / (beyond[0] - left[0])
        found.append(left[1] + share * (beyond[1] - left[1]))
    return np.array(found)


def abstention(should, abstained, correct):
    """Counts and shares of one model, question by question; None is missing."""
    count = {(1, 1): 0, (0, 1): 0, (1, 0): 0, (0, 0): 0}
    right = graded = ungraded = unjudged = 0
    for due, did, grade in zip(should, abstained, correct, strict=True):
        if due is None:
            continue
        if did is None:
            unjudged += 1
            continue
        count[due, did] += 1
        if due == 0 and did == 0:
            if grade is None:
                ungraded += 1
            else:
                graded += 1
                right += grade
    tp, fp, fn, tn = count[1, 1], count[0, 1], count[1, 0], count[0, 0]

    def share(part, whole):
        return part / whole if whole else math.nan

    due = tp + fn > 0
    blind = ungraded > 0 and graded == 0
    return {
        "n": tp + fp + fn + tn,
        "unjudged": unjudged,
        "ungraded": ungraded,
        "precision": share(tp, tp + fp) if due else math.nan,
        "recall": share(tp, tp + fn),
        "f1": share(2 * tp, 2 * tp + fp + fn) if due else math.nan,
        "over_abstention": share(fp, fp + tn),
        "coverage": share(fn + tn, tp + fp + fn + tn),
        "appropriate": share(tp + tn, tp + fp + fn + tn),
        "phi": phi(tp, fp, fn, tn),
        "selective_accuracy": share(right, graded),
        "accuracy": math.nan if blind else share(right, fp + tn),
    }
