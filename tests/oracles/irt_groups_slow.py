"""The marginal likelihood of several groups, one respondent after the other."""

import numpy as np


def chances(item, theta, kind):
    """Return probabilities of all answers (C, Q) of one item."""
    if kind == "graded":
        slope, steps = item[0], item[1:]
        above = [np.ones_like(theta)]
        above += [1 / (1 + np.exp(-(slope * theta + step))) for step in steps]
        above.append(np.zeros_like(theta))
        return np.array([above[c] - above[c + 1] for c in range(len(steps) + 1)])
    yes = 1 / (1 + np.exp(-(item[0] * theta + item[1])))
    return np.array([1 - yes, yes])


def log_likelihood(tables, items, means, sds, kind="2pl"):
    """Sum over groups of tables (n, J) with items (G, J, p) and abilities N(mean, sd)."""
    total = 0.0
    z = np.linspace(-8, 8, 801)
    weight = np.exp(-(z**2) / 2)
    weight /= weight.sum()
    for table, own, mean, sd in zip(tables, items, means, sds, strict=True):
        curves = [chances(item, mean + sd * z, kind) for item in own]
        for row in table:
            joint = weight.copy()
            for j, answer in enumerate(row):
                if answer >= 0:
                    joint = joint * curves[j][int(answer)]
            total += np.log(joint.sum())
    return total


def rmsd(table, items, mean, sd, kind="2pl"):
    """Return RMSD and MD of all items of one group from posteriors, one by one."""
    z = np.linspace(-8, 8, 801)
    weight = np.exp(-(z**2) / 2)
    curves = [chances(item, mean + sd * z, kind) for item in items]
    posteriors = []
    for row in table:
        joint = weight.copy()
        for j, answer in enumerate(row):
            if answer >= 0:
                joint = joint * curves[j][int(answer)]
        posteriors.append(joint / joint.sum())
    out = []
    for j, curve in enumerate(curves):
        seen = [(post, row[j]) for post, row in zip(posteriors, table, strict=True) if row[j] >= 0]
        mass = np.sum([post for post, _ in seen], axis=0)
        top = len(curve) - 1
        mean_score = np.sum([post * answer / top for post, answer in seen], axis=0) / mass
        gap = mean_score - (np.arange(top + 1) / top) @ curve
        share = mass / mass.sum()
        out.append((np.sqrt(share @ gap**2), share @ gap))
    return np.array(out).T
