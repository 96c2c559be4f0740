"""Cluster-robust regression with whole matrices, and exact tests by adding up."""

from math import comb

import numpy as np


def design(sets, present):
    """Return one column per set of questions, for the questions that were answered."""
    names = sorted(set(sets))
    return np.array([[float(s == name) for name in names] for s in sets])[present]


def inverse_root(matrix):
    values, vectors = np.linalg.eigh(matrix)
    return vectors @ np.diag(values**-0.5) @ vectors.T


def regression(y, x, weights, clusters, contrast, correction):
    """Return a contrast of weighted least squares, its standard error and degrees of freedom."""
    w = np.diag(weights)
    bread = np.linalg.inv(x.T @ w @ x)
    beta = bread @ x.T @ w @ y
    residual = y - x @ beta
    groups = [np.flatnonzero(np.array(clusters) == g) for g in dict.fromkeys(clusters)]
    hat = x @ bread @ x.T @ w
    total = 0.0
    influence = []
    for rows in groups:
        adjust = np.eye(rows.size)
        if correction == "cr2":  # weights of one within clusters only
            adjust = inverse_root(np.eye(rows.size) - hat[np.ix_(rows, rows)])
        row = contrast @ bread @ x[rows].T @ w[np.ix_(rows, rows)] @ adjust
        total += (row @ residual[rows]) ** 2
        influence.append((np.eye(y.size) - hat)[rows].T @ row)
    if correction == "cr1":
        total *= len(groups) / (len(groups) - 1)
    omega = np.array([[a @ b for a in influence] for b in influence])
    df = np.trace(omega) ** 2 / (omega**2).sum()
    return contrast @ beta, np.sqrt(total), df


def mean(y, weights, clusters, correction):
    return regression(y, np.ones((y.size, 1)), weights, clusters, np.ones(1), correction)


def exact_mcnemar(b, c):
    n = b + c
    tail = sum(comb(n, k) for k in range(min(b, c) + 1)) / 2**n
    return min(1.0, 2 * tail)


def answer_variances(questions):
    """Return the variances between and within for a list of lists of answers."""
    means = [np.mean(answers) for answers in questions]
    within = np.mean([np.var(answers, ddof=1) for answers in questions if len(answers) > 1])
    added = np.mean([within / len(answers) for answers in questions])
    return np.var(means, ddof=1) - added, within
