"""Ridge regression, what is left out, and cuts, by fitting anew each time: slow and obvious."""

import numpy as np


def ridge_fit(x, y, penalty):
    """Solve the normal equations with an intercept that is not penalised."""
    n, d = x.shape
    design = np.column_stack([np.ones(n), x])
    shrink = penalty * np.eye(d + 1)
    shrink[0, 0] = 0.0
    return np.linalg.solve(design.T @ design + shrink, design.T @ y)


def left_out_error(x, y, penalty, groups):
    total = 0.0
    for group in sorted(set(groups.tolist())):
        own = groups == group
        weights = ridge_fit(x[~own], y[~own], penalty)
        found = weights[0] + x[own] @ weights[1:]
        total += ((y[own] - found) ** 2).sum()
    return total / y.size


def best_f_beta(probability, correct, beta):
    """Highest F-beta over all cuts."""
    best = 0.0
    for cut in sorted(set(probability.tolist())):
        answered = probability >= cut
        both, right = (answered & (correct == 1)).sum(), correct.sum()
        best = max(best, (1 + beta**2) * both / (beta**2 * right + answered.sum()))
    return best


def largest_coverage(probability, correct, risk):
    """Largest share answered over all cuts whose share of errors stays at the risk."""
    best = 0.0
    for cut in sorted(set(probability.tolist())):
        answered = probability >= cut
        if (correct[answered] == 0).mean() <= risk + 1e-12:
            best = max(best, answered.mean())
    return best
