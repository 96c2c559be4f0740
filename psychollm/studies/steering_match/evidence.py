r"""Controls for the headline statistics: permuted questions, other tables, and thresholds.

In the first control, the steered answers keep their yes rates at every strength but are assigned
to random questions. Best strengths still follow the thresholds, because strengths and thresholds
both follow the yes rates. Therefore, an :math:`R^2` and an agreement that are no higher than in
the first control are not evidence for steering.

The second control replaces the table by other tables, such as tables of random directions and of
directions estimated from shuffled labels.

The third control is a threshold on the unsteered log odds, so the unsteered model determines the
order of the questions. If a threshold on the unsteered log odds agrees with the targets as closely
as steering does, steering has only shifted a threshold.

Controls are compared with the direction by held-out kappa, averaged over targets. Questions used
to choose the strength are not scored, and the comparison is paired by question. Agreement would be
misleading, because agreement with targets of extreme yes rates is highest if the model never
changes its answer. Agreement would therefore penalise directions that cannot be scaled far enough
to make all answers equal.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from psychollm._base.replicate import generators, replicate
from psychollm._base.result import Result
from psychollm._base.types import BoolArray, FloatArray, WordArray
from psychollm.estimates.estimate import Difference, paired_contrast
from psychollm.estimates.null import Null
from psychollm.estimates.resampling import Resampling
from psychollm.studies.steering_match.best_strengths import plain_thresholds, r_squared
from psychollm.studies.steering_match.grid import (
    Criterion,
    Grid,
    Profiles,
    Ties,
    count,
    grid_of,
    peak,
)
from psychollm.studies.steering_match.reconstruction import (
    Answers,
    held_out_answers,
    mean_defined,
)
from psychollm.studies.steering_match.steered_answers import SteeredAnswers

if TYPE_CHECKING:
    import pandas as pd

HEADLINES = ("r_squared", "agreement", "kappa", "held_out_agreement", "held_out_kappa")
_CUTS = 200


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Scoring:
    """Inputs for scoring a table of steered answers."""

    profiles: Profiles
    thresholds: FloatArray  # (targets,)
    halves: BoolArray  # (splits, questions)
    criterion: Criterion
    ties: Ties

    def held_out(self, grid: Grid) -> tuple[Answers, Answers]:
        """Return two sets of held-out answers, at strengths chosen for agreement and for kappa."""
        return held_out_answers(grid, self.profiles, self.halves, ties=self.ties)

    def headlines(
        self, grid: Grid, held_out: tuple[Answers, Answers]
    ) -> tuple[FloatArray, FloatArray]:
        """Return the statistics in the order of `HEADLINES`, and each target's held-out kappa."""
        counts = count(grid, self.profiles)
        agreement, kappa = counts.agreement, counts.kappa
        curves = kappa if self.criterion == "kappa" else agreement
        best = peak(curves, grid.strengths, ties=self.ties)
        rows = np.arange(best.place.size)
        alike, own_kappa = held_out[0].rates()[0][0], held_out[1].rates()[1][0]
        values = np.stack([agreement[rows, best.place], kappa[rows, best.place]])
        line = r_squared(self.thresholds, best.strength)
        means = mean_defined(np.stack([*values, alike, own_kappa]))
        return np.concatenate([[line], means]), own_kappa


def permutation_of_questions(
    grid: Grid,
    scoring: Scoring,
    observed: tuple[FloatArray, FloatArray],
    options: Resampling,
    n: int,
) -> tuple[Null, Null]:
    """Permute the questions of the steered answers; return null statistics and null kappas."""
    # Targets keep their questions, which preserves the dependence between targets.
    targets = scoring.thresholds.size

    def task(seeds: WordArray) -> FloatArray:
        rows = []
        for generator in generators(seeds):
            moved = grid.permuted(generator.permutation(grid.yes.shape[1]))
            rows.append(np.concatenate(scoring.headlines(moved, scoring.held_out(moved))))
        return np.array(rows)

    draws = replicate(
        task,
        n,
        rng=options.rng,
        n_jobs=options.n_jobs,
        progress=options.progress,
        label="permutations of questions",
    )
    heads, kappas = draws[:, :-targets], draws[:, -targets:]
    return (
        _null(observed[0], heads, "headline numbers of steering"),
        _null(observed[1], kappas, "held-out kappa"),
    )


def _null(observed: FloatArray, draws: FloatArray, statistic: str) -> Null:
    # If kappa is undefined for a permutation (all yes, or all no), the permutation counts as
    # showing no association.
    filled = np.where(np.isfinite(observed) & np.isnan(draws), 0.0, draws)
    return Null.compare(
        observed, filled, scheme="questions", statistic=statistic, alternative="greater"
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Control(Result):
    """Performance of a control, compared with the direction.

    Attributes
    ----------
    name : str
        Name of the control table.
    kind : str
        "table" or "cut-off".
    r_squared, agreement, kappa, held_out_agreement, held_out_kappa : float
        Statistics that the study reports for the direction, as means over the targets.
    ahead, ahead_agreement : Difference
        Held-out kappa and agreement of the direction, minus held-out kappa and agreement of the
        control.

    Examples
    --------
    >>> import numpy as np
    >>> from psychollm.studies import SteeredAnswers, steering_match
    >>> rng = np.random.default_rng(0)
    >>> ease, strengths = rng.normal(size=90), np.linspace(-2, 2, 9)
    >>> steered = SteeredAnswers.from_array(ease + strengths[:, None], strengths=strengths,
    ...                                     scale="log_odds")
    >>> targets = (ease + rng.normal(size=(5, 90)) > np.linspace(-1, 1, 5)[:, None]).astype(int)
    >>> study = steering_match(steered, targets, n_null=39, bootstrap=20, rng=0)
    >>> study.controls[0].name, study.controls[0].ahead.first
    ('threshold on unsteered log odds', 'direction')
    """

    name: str
    kind: Literal["table", "cut-off"]
    r_squared: float
    agreement: float
    kappa: float
    held_out_agreement: float
    held_out_kappa: float
    ahead: Difference
    ahead_agreement: Difference


def control(
    name: str,
    kind: Literal["table", "cut-off"],
    grid: Grid,
    scoring: Scoring,
    direction: tuple[Answers, Answers],
    counts: FloatArray,
    *,
    level: float,
) -> Control:
    """Score a control and compare it with the direction on the same halves and resamples."""
    # `direction` holds the held-out answers for agreement and for kappa; `counts` (resamples,
    # questions) is the frequency of each question in each resample.
    held = scoring.held_out(grid)
    values, _ = scoring.headlines(grid, held)
    ahead = []
    for row, measure in enumerate(("agreement", "kappa")):
        pair = (direction[row], held[row])
        draws = np.stack([one.means(counts)[:, row] for one in pair], axis=1)
        first, second = (float(one.means()[0, row]) for one in pair)
        ahead.append(
            paired_contrast(
                f"held-out {measure}",
                ("direction", name),
                (first, second),
                draws,
                df=counts.shape[1] - 1.0,
                level=level,
            )
        )
    return Control(
        name=name,
        kind=kind,
        **dict(zip(HEADLINES, map(float, values), strict=True)),
        ahead=ahead[1],
        ahead_agreement=ahead[0],
    )


def cut_offs(steered: SteeredAnswers) -> Grid | None:
    """Return a table whose strengths are thresholds on the unsteered log odds, or None."""
    # There are at most 200 thresholds, with equal numbers of questions between them.
    base = steered.unsteered
    if base is None or not np.isfinite(base).any():
        return None
    known = np.isfinite(base)
    ordered = np.unique(base[known])
    between = 0.5 * (ordered[:-1] + ordered[1:])
    cuts = np.concatenate([[ordered[0] - 1.0], between, [ordered[-1] + 1.0]])
    if cuts.size > _CUTS:
        cuts = cuts[np.linspace(0, cuts.size - 1, _CUTS).round().astype(np.int64)]
    offsets = -cuts[::-1]
    table = SteeredAnswers(
        strengths=offsets,
        yes=np.where(known, base + offsets[:, None] > 0, np.nan),
        log_odds=None,
        mass=None,
        unsteered=base,
        collapsed=np.zeros(offsets.size, dtype=np.bool_),
        questions=steered.questions,
    )
    return grid_of(table, steps=1)


def controls_frame(
    direction: dict[str, float], controls: tuple[Control, ...], null: Null
) -> pd.DataFrame:
    """Return one row for the direction, one per control, and one for permuted questions."""
    import pandas as pd

    rows = [{"name": "direction", **direction}]
    rows += [
        {
            "name": one.name,
            **{key: getattr(one, key) for key in HEADLINES},
            "ahead": one.ahead.value,
            "ahead_lower": one.ahead.interval[0],
            "ahead_upper": one.ahead.interval[1],
            "ahead_p": one.ahead.p_value,
            "ahead_agreement": one.ahead_agreement.value,
            "ahead_agreement_lower": one.ahead_agreement.interval[0],
            "ahead_agreement_upper": one.ahead_agreement.interval[1],
            "ahead_agreement_p": one.ahead_agreement.p_value,
        }
        for one in controls
    ]
    rows.append({"name": "questions exchanged", **dict(zip(HEADLINES, null.mean, strict=True))})
    return pd.DataFrame(rows)


def own_thresholds(profiles: Profiles, thresholds: FloatArray | None) -> FloatArray:
    """Return the given thresholds, or thresholds computed from the yes rates."""
    return plain_thresholds(profiles.yes_rates) if thresholds is None else thresholds
