r"""`steering_match`: test whether one scaled direction reproduces models' confidence profiles.

A direction is added to the states of one open model at many strengths. A target is a model whose
yes/no answers are to be reproduced. For each target the strength with the highest agreement is
chosen, and best strengths are regressed on thresholds. Agreement and :math:`R^2` are high even for
uninformative directions. Any direction that changes the yes rate can reach the target's yes rate,
and thresholds are functions of yes rates. The informative question is whether the steered model
says yes to the *same* questions. Held-out kappa measures agreement on the same questions, and is
compared with permuted questions, random directions, and a threshold on the unsteered log odds.

References
----------
Cohen, J. (1960). A coefficient of agreement for nominal scales. Educational and Psychological
Measurement, 20, 37-46. https://doi.org/10.1177/001316446002000104
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from psychollm._base.checks import (
    DRAWS,
    check_choice,
    check_count,
    check_fraction,
    check_generator,
    float_array,
)
from psychollm._base.errors import LabelError, ShapeError
from psychollm._base.types import FloatArray, RandomState
from psychollm.data.labels import Labels
from psychollm.data.responses import Responses, ResponsesLike, as_responses
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.reasons import Reason, first_reason
from psychollm.estimates.resampling import (
    Bootstrap,
    Resampling,
    bootstrap_draws,
    bootstrap_estimate,
)
from psychollm.studies.steering_match.best_strengths import (
    BestStrengths,
    best_strengths,
    fitted_line,
)
from psychollm.studies.steering_match.evidence import (
    Control,
    Scoring,
    control,
    cut_offs,
    own_thresholds,
    permutation_of_questions,
)
from psychollm.studies.steering_match.grid import Criterion, Grid, Ties, grid_of, profiles_of
from psychollm.studies.steering_match.reconstruction import (
    Answers,
    Reconstruction,
    answers_at,
    constant_answers,
    fixed_answers,
    random_halves,
    reconstruction,
)
from psychollm.studies.steering_match.result import Choice, SteeringMatch
from psychollm.studies.steering_match.steered_answers import SteeredAnswers, as_steered


def steering_match(
    steered: SteeredAnswers | Any,
    targets: ResponsesLike,
    *,
    thresholds: Any = None,
    controls: Mapping[str, SteeredAnswers | Any] | None = None,
    criterion: Choice = "agreement",
    ties: Ties = "middle",
    steps: int = 5,
    n_splits: int = 5,
    n_null: int = 499,
    bootstrap: Bootstrap | int = 1000,
    level: float = 0.95,
    rng: RandomState = None,
) -> SteeringMatch:
    """Match one steered model to many targets, and compare it with controls.

    Parameters
    ----------
    steered : SteeredAnswers, or what `psychollm.steering.sweep` returns
        Answers at several strengths (strengths, questions).
    targets : Responses, DataFrame, DataArray or array_like (targets, questions)
        Yes/no answers of the models to reproduce; missing answers are allowed.
    thresholds : mapping, array_like (targets,) or a result with thresholds and labels, optional
        Latent value above which a target says yes, such as the thresholds of `shared_confidence`,
        which are high for cautious models. Targets with a threshold of NaN are omitted from the
        regression. By default, thresholds are computed from yes rates.
    controls : mapping of str to values like `steered`, optional
        Sweeps of random directions or of directions made from shuffled labels, by name.
    criterion : {"agreement", "kappa"}
        Criterion for the best strength, which also applies to controls and nulls. Held-out
        agreement always uses strengths chosen for agreement, and held-out kappa always uses
        strengths chosen for kappa.
    ties : {"middle", "nearest_zero"}
        Rule for the choice among equally good strengths.
    steps : int
        Number of intervals between two strengths of the table; log odds are interpolated.
    n_splits : int
        Number of random halves of the questions for held-out statistics.
    n_null : int
        Number of permutations of the questions.
    bootstrap, level, rng
        Number of resamples of the questions, coverage of the intervals, and random generator or
        seed.

    Returns
    -------
    SteeringMatch
        The result has `summary()`, `verdict()`, `to_frame()`, `controls_frame()`,
        `profile(target)` and `plot()`.

    Raises
    ------
    InputError
        If a table is not a sweep, or fewer than two strengths are usable.
    LabelError
        If tables have different questions, or thresholds have other targets.
    ShapeError
        If there are fewer than two targets or ten questions.
    CodeError
        If targets are not binary.

    Examples
    --------
    >>> import psychollm as psy
    >>> example = psy.load_example("shared_confidence")
    >>> answers = example.confidence.select(questions=list(example.confidence.questions[:300]))
    >>> easiness = example.truth.scores[:300]
    >>> strengths = np.linspace(-3, 3, 21)
    >>> steered = SteeredAnswers.from_array(easiness + strengths[:, None], strengths=strengths,
    ...                                     scale="log_odds", questions=answers.questions)
    >>> study = steering_match(steered, answers, n_null=99, bootstrap=50, rng=0)
    >>> study.p_values["held_out_kappa"], study.headlines["r_squared"] > 0.9
    (0.01, True)
    """
    check_choice("criterion", criterion, Choice)
    check_choice("ties", ties, Ties)
    check_fraction("level", level)
    steps, n_splits = check_count("steps", steps), check_count("n_splits", n_splits, high=DRAWS)
    n_null = check_count("n_null", n_null, low=19, high=DRAWS)
    table = _targets(targets)
    main = as_steered(steered).ordered(table.questions)
    others = {
        str(name): as_steered(one, argument=f"controls[{name!r}]").ordered(table.questions)
        for name, one in (controls or {}).items()
    }
    seeds = check_generator(rng).integers(2**62, size=3)
    options = Resampling.of(bootstrap, level, int(seeds[0])).required()
    halves = random_halves(table.n_questions, n_splits, np.random.default_rng(int(seeds[1])))
    study = _Study(main, others, table, _thresholds(thresholds, table.models), options, steps)
    return study.result(criterion, ties, halves, n_null, int(seeds[2]))


@dataclass(frozen=True, slots=True)
class _Study:
    """Tables and options of one call of `steering_match`."""

    steered: SteeredAnswers
    others: Mapping[str, SteeredAnswers]
    targets: Responses
    thresholds: FloatArray | None
    options: Resampling
    steps: int

    def result(
        self, criterion: Choice, ties: Ties, halves: Any, n_null: int, null_seed: int
    ) -> SteeringMatch:
        """Compute all parts and return the result."""
        profiles = profiles_of(self.targets)
        grid = grid_of(self.steered, steps=self.steps)
        scoring = Scoring(
            profiles=profiles,
            thresholds=own_thresholds(profiles, self.thresholds),
            halves=halves,
            criterion=criterion,
            ties=ties,
        )
        held = scoring.held_out(grid)
        matches = self._matches(grid, scoring)
        answers = self._answers(grid, scoring, matches[criterion], held)
        # All reconstructions share these resamples (resamples, questions).
        counts = bootstrap_draws(lambda drawn: drawn, self.targets.n_questions, self.options)
        shared: dict[str, Any] = {"labels": self.targets.models, "level": self.options.level}
        reconstructed = {
            name: reconstruction(one, counts, **shared) for name, one in answers.items()
        }
        null_options = Resampling(
            rng=null_seed, n_jobs=self.options.n_jobs, progress=self.options.progress
        )
        null, kappa_null = permutation_of_questions(
            grid, scoring, scoring.headlines(grid, held), null_options, n_null
        )
        return SteeringMatch(
            matches=matches,
            criterion=criterion,
            at_best=reconstructed["best strength"],
            held_out=reconstructed["held out"],
            held_out_for_kappa=reconstructed["held out, chosen for kappa"],
            from_threshold=reconstructed["from threshold"],
            constant=reconstructed["constant answer"],
            unsteered=reconstructed["unsteered"],
            lift=self._lift(reconstructed, counts, answers),
            null=null,
            kappa_null=kappa_null,
            controls=self._controls(scoring, held, counts),
            steered=self.steered,
            targets=self.targets,
            level=self.options.level,
            _answers=answers,
            _grid=grid,
        )

    def _matches(self, grid: Grid, scoring: Scoring) -> dict[str, BestStrengths]:
        criteria: list[Criterion] = ["agreement", "kappa"]
        if grid.log_odds is not None:
            criteria.append("likelihood")
        return {
            one: best_strengths(
                grid,
                scoring.profiles,
                self.thresholds,
                criterion=one,
                ties=scoring.ties,
                options=self.options,
                labels=self.targets.models,
            )
            for one in criteria
        }

    def _answers(
        self,
        grid: Grid,
        scoring: Scoring,
        best: BestStrengths,
        held: tuple[Answers, Answers],
    ) -> dict[str, Answers]:
        """Return the answers reproduced for the targets, by method."""
        profiles = scoring.profiles
        predicted = _predicted(best, self.options.level)
        answers = [
            answers_at("best strength", grid, profiles, _nearest(grid, best.strength.value)),
            *held,
            answers_at("from threshold", grid, profiles, _nearest(grid, predicted)),
            constant_answers(profiles),
            fixed_answers("unsteered", _unsteered_answers(self.steered), profiles),
        ]
        undefined = np.isnan(predicted)
        answers[3].scored[undefined] = 0.0
        return {one.name: one for one in answers}

    def _lift(
        self,
        reconstructed: Mapping[str, Reconstruction],
        counts: FloatArray,
        answers: Mapping[str, Answers],
    ) -> Estimate:
        first, second = answers["held out"], answers["constant answer"]
        draws = first.rates(counts)[0] - second.rates(counts)[0]
        one, other = (
            reconstructed["held out"].agreement,
            reconstructed["constant answer"].agreement,
        )
        return bootstrap_estimate(
            "lift over the constant answer",
            one.value - other.value,
            draws,
            n=one.n,
            flags=first_reason((one.n == 0, Reason.NO_ANSWERS)),
            level=self.options.level,
            labels=self.targets.models,
            axis="target",
        )

    def _controls(
        self, scoring: Scoring, held: tuple[Answers, Answers], counts: FloatArray
    ) -> tuple[Control, ...]:
        level = self.options.level
        offset = cut_offs(self.steered)
        controls = []
        if offset is not None:
            name = "threshold on unsteered log odds"
            controls.append(control(name, "cut-off", offset, scoring, held, counts, level=level))
        for name, table in self.others.items():
            grid = grid_of(table, steps=self.steps)
            controls.append(control(name, "table", grid, scoring, held, counts, level=level))
        return tuple(controls)


def _targets(targets: ResponsesLike) -> Responses:
    table = as_responses(targets, argument="targets", binary=True)
    if table.n_models < 2 or table.n_questions < 10:
        msg = (
            f"targets has {table.n_models} targets and {table.n_questions} questions: at least "
            "2 and 10 are required (for one target, only agreement is defined)"
        )
        raise ShapeError(msg)
    return table


def _thresholds(thresholds: Any, labels: Labels) -> FloatArray | None:
    """Return the thresholds in the order of the targets; None if there are no thresholds."""
    if thresholds is None:
        return None
    if hasattr(thresholds, "thresholds"):
        named = thresholds.labels if hasattr(thresholds, "labels") else thresholds.models
        thresholds = dict(zip(named, thresholds.thresholds, strict=True))
    if isinstance(thresholds, Mapping):
        if absent := [label for label in labels if label not in thresholds]:
            msg = f"thresholds has no entry for target {absent[0]!r}: pass NaN if it is unknown"
            raise LabelError(msg)
        thresholds = [thresholds[label] for label in labels]
    array = float_array(thresholds, "thresholds")
    if array.shape != (len(labels),):
        msg = f"thresholds must have one number per target ({len(labels)}), got {array.shape}"
        raise ShapeError(msg)
    return np.where(np.isfinite(array), array, np.nan)


def _predicted(best: BestStrengths, level: float) -> FloatArray:
    """Return each target's strength predicted by the regression on the other targets."""
    predicted = np.full(best.thresholds.size, np.nan)
    for row, threshold in enumerate(best.thresholds):
        others = np.arange(predicted.size) != row
        line = fitted_line(best.thresholds[others], best.strength.value[others], level)
        predicted[row] = line.intercept + line.slope * threshold
    return predicted


def _nearest(grid: Grid, strengths: FloatArray) -> Any:
    """Return the grid indices nearest to the strengths, 0 for NaN."""
    wanted = np.where(np.isfinite(strengths), strengths, grid.strengths[0])
    return np.abs(grid.strengths[None, :] - wanted[:, None]).argmin(axis=1)


def _unsteered_answers(steered: SteeredAnswers) -> FloatArray:
    """Return the answers without steering, NaN if unknown (questions,)."""
    base = steered.unsteered
    if base is not None:
        return np.where(np.isfinite(base), base > 0, np.nan)
    at_zero = np.flatnonzero(steered.strengths == 0.0)
    n = len(steered.questions)
    return np.array(steered.yes[at_zero[0]]) if at_zero.size else np.full(n, np.nan)
