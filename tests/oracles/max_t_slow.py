"""Westfall and Young's maximum, one hypothesis and one resample at a time."""

import math


def standard_errors(draws):
    n, m = len(draws), len(draws[0])
    result = []
    for j in range(m):
        column = [row[j] for row in draws]
        mean = math.fsum(column) / n
        result.append(math.sqrt(math.fsum((x - mean) ** 2 for x in column) / (n - 1)))
    return result


def share_above(value, draws, se, members, bound):
    above = 0
    for row in draws:
        if max(abs(row[j] - value[j]) / se[j] for j in members) >= bound:
            above += 1
    return (above + 1) / (len(draws) + 1)


def single_step(value, draws):
    se = standard_errors(draws)
    everyone = range(len(value))
    return [share_above(value, draws, se, everyone, abs(value[j]) / se[j]) for j in everyone]


def step_down(value, draws):
    se = standard_errors(draws)
    order = sorted(range(len(value)), key=lambda j: -abs(value[j]) / se[j])
    adjusted = [0.0] * len(value)
    largest = 0.0
    for rank, j in enumerate(order):
        p = share_above(value, draws, se, order[rank:], abs(value[j]) / se[j])
        largest = max(largest, p)
        adjusted[j] = largest
    return adjusted
