r"""Deployment gap: prevalence of a behaviour in traces with right answers minus in all traces.

Let C be the event that a trace shows a behaviour, and R the event that the answer of the trace is
right. Equation (1) defines the deployment gap:

.. math:: P(C \mid R) - P(C) = w\,d, \qquad w = P(\bar R), \quad
          d = P(C \mid R) - P(C \mid \bar R).                                            \quad (1)

The interval of the gap combines Wilson intervals of three proportions at their effective sample
sizes (Newcombe, 1998, for d; Zou, Huang and Zhang, 2009, for products). Let l and u be the
distances of d from its lower and upper bound, and :math:`w_l, w_u` the distances of w from its
bounds. For :math:`d \geq 0`, the interval of the deployment gap is

.. math:: \bigl[\, w d - \sqrt{(w l)^2 + (d w_l)^2},\;
                  w d + \sqrt{(w u)^2 + (d w_u)^2} \,\bigr].                              \quad (2)

For d < 0, :math:`w_l` and :math:`w_u` are exchanged. In simulations (2,000 data sets each, with 20
to 1,000 traces), coverage was 93 to 97 %. If few traces show the behaviour or few answers are
wrong, coverage reached 99 %, whereas the coverage of bootstrap percentile intervals was 87 %.

References
----------
Newcombe, R. G. (1998). Interval estimation for the difference between independent proportions:
Comparison of eleven methods. Statistics in Medicine, 17, 873-890.

Zou, G. Y., Huang, W., & Zhang, X. (2009). A note on confidence interval estimation for a linear
function of binomial proportions. Computational Statistics & Data Analysis, 53, 1080-1085.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace

import numpy as np

from psychollm._base.result import Result
from psychollm._base.types import BoolArray, FloatArray
from psychollm.calibration.decisions.two_by_two import ratio
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.reasons import Reason
from psychollm.studies.metacognitive_skill.traces import Panel, Sums, Traces


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Deployment(Result):
    """Association of a behaviour with right answers.

    Examples
    --------
    >>> import pandas as pd
    >>> from psychollm.studies.metacognitive_skill.study import metacognitive_skill
    >>> table = pd.DataFrame({"model": "m", "item": range(8), "category": "evaluation",
    ...                       "code": [2, 0] * 4, "correct": [1, 1, 1, 0] * 2})
    >>> found = metacognitive_skill(table, bootstrap=20, rng=0).deployment["evaluation"]
    >>> found.given_correct.value.round(3), found.given_wrong.value, found.gap.value.round(3)
    (array([0.667]), array([0.]), array([0.167]))
    """

    given_correct: Estimate  # prevalence in traces with a right answer
    given_wrong: Estimate  # prevalence in traces with a wrong answer
    gap: Estimate  # given_correct minus the prevalence in all traces (1)


def register_deployment(panel: Panel, traces: Traces, keep: BoolArray, threshold: int) -> None:
    """Register sums over all traces, traces with right answers, and traces with wrong answers."""
    correct = traces.numbers["correct"]
    for name, codes in traces.codes.items():
        known = keep & np.isfinite(codes) & np.isfinite(correct)
        shown = (codes >= threshold).astype(np.float64)
        right = np.nan_to_num(correct)
        for key, values in {
            "graded shown": shown,
            "graded n": np.ones(codes.size),
            "right shown": shown * right,
            "right n": right,
            "wrong shown": shown * (1.0 - right),
            "wrong n": 1.0 - right,
        }.items():
            panel.add(f"{key} {name}", traces.sums(values, known))


def deployment(panel: Panel, name: Hashable) -> Deployment:
    """Return the association of one behaviour with right answers, after `register_deployment`."""
    n, shown = panel.size(f"graded n {name}"), panel.size(f"graded shown {name}")
    right, wrong = panel.size(f"right n {name}"), panel.size(f"wrong n {name}")
    given_correct = panel.share(
        f"{name} given correct",
        f"right shown {name}",
        f"right n {name}",
        (right == 0, Reason.NO_CORRECT),
    )
    given_wrong = panel.share(
        f"{name} given wrong",
        f"wrong shown {name}",
        f"wrong n {name}",
        (wrong == 0, Reason.NO_WRONG),
    )
    share_wrong = panel.share("share wrong", f"wrong n {name}", f"graded n {name}")

    def gap(of: Sums) -> FloatArray:
        given = ratio(of(f"right shown {name}"), of(f"right n {name}"))
        return given - ratio(of(f"graded shown {name}"), of(f"graded n {name}"))

    estimate = panel.estimate(
        f"deployment gap of {name}",
        gap,
        n,
        (n == 0, Reason.TOO_FEW),
        (right == 0, Reason.NO_CORRECT),
        (wrong == 0, Reason.NO_WRONG),
        ((shown == 0) | (shown == n), Reason.CONSTANT),
    )
    bounds = np.where(
        estimate.defined[:, None], _interval(given_correct, given_wrong, share_wrong), np.nan
    )
    method = "joined Wilson intervals"
    return Deployment(
        given_correct=given_correct,
        given_wrong=given_wrong,
        gap=replace(estimate, interval=bounds, method=method),
    )


def _interval(one: Estimate, two: Estimate, wrong: Estimate) -> FloatArray:
    """Return the bounds, equation (2), of every model."""
    d, w = one.value - two.value, wrong.value
    low = np.hypot(one.value - one.interval[:, 0], two.interval[:, 1] - two.value)
    high = np.hypot(one.interval[:, 1] - one.value, two.value - two.interval[:, 0])
    below, above = w - wrong.interval[:, 0], wrong.interval[:, 1] - w
    down, up = np.where(d >= 0, (below, above), (above, below))
    return np.stack(
        [w * d - np.hypot(w * low, d * down), w * d + np.hypot(w * high, d * up)], axis=1
    )
