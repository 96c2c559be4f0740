"""`shared_confidence_by`: study each group of questions, and test for a common factor.

Each group (facts, code, mathematics) is studied separately. `common_loadings` tests whether models
follow one factor over all groups or a separate factor in each group. Thresholds may differ between
groups. The rank correlation of thresholds over models shows whether a model with a low threshold
in one group has low thresholds in the other groups.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.checks import choose_seed
from psychollm._base.errors import LabelError, ShapeError
from psychollm._base.multiplicity import Adjustment
from psychollm._base.numbers import count, number, p_equals, with_interval
from psychollm._base.result import Result
from psychollm._base.types import EmptyCells, FloatArray, IntArray, Missing, RandomState
from psychollm.calibration.stated import binary_tables
from psychollm.data.labels import Labels, numbered, unit_labels
from psychollm.data.responses import ResponsesLike
from psychollm.estimates.findings import Finding, Findings, Study, exhibit, sentence_list
from psychollm.estimates.provenance import call_text
from psychollm.estimates.resampling import Bootstrap, Resampling
from psychollm.estimates.verdict import SMALLEST, Outcome, SmallestEffects
from psychollm.factor.one_factor.common_loadings import CommonLoadings, common_loadings
from psychollm.studies.inference_boundary.monitoring_link import MonitoringLink, rank_link
from psychollm.studies.shared_confidence.result import SharedConfidence
from psychollm.studies.shared_confidence.study import Screening, shared_confidence

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SharedByGroups(Study, Result):
    """Study of each group of questions, and test of one factor for all groups.

    Examples
    --------
    >>> import psychollm as psy
    >>> from psychollm.data.simulate_study import simulate_study
    >>> made = simulate_study(n_models=6, n_questions=600, rng=0)
    >>> half = np.arange(600) % 2
    >>> found = shared_confidence_by(made.confidence, made.correctness, half,
    ...                              n_null=19, bootstrap=20, rng=1)
    >>> found.to_frame()[["group", "n", "n_factors"]]
       group    n  n_factors
    0      0  300          1
    1      1  300          1
    """

    results: Mapping[Any, SharedConfidence]  # studies by group, if the group could be studied
    reasons: Mapping[Any, str]  # reasons why a group could not be studied
    common: CommonLoadings | None  # test over the groups studied; None with fewer than two groups
    without: str  # reason why `common` is None
    thresholds: Mapping[str, MonitoringLink]  # by pair of groups: rank correlation over models
    congruence: FloatArray  # (pairs,) Tucker's congruence of loadings
    n: IntArray  # (groups,) number of questions
    labels: Labels  # (groups,)
    level: float
    call: str
    seed: int

    def to_frame(self) -> pd.DataFrame:
        """Return one row per group: number of factors and mean loading."""
        import pandas as pd

        rows = []
        for group, n in zip(self.labels, self.n.tolist(), strict=True):
            row: dict[str, Any] = {"group": group, "n": n}
            if (one := self.results.get(group)) is not None:
                dimensions = one.dimensionality
                row |= {
                    "n_factors": dimensions.n_factors,
                    "p_no_factor": float(dimensions.shared_test.p_value),
                    "p_one_factor": float(dimensions.one_factor_test.p_value),
                    "second_share": float(dimensions.second_share.observed),
                    "mean_loading": float(np.nanmean(one.loadings)),
                    "private_correlation": one.private_signal.mean,
                    "accuracy": float(np.nanmean(one.confusion.accuracy.value)),
                    "yes_rate": float(np.nanmean(one.confusion.yes_rate.value)),
                }
            rows.append(row | {"reason": self.reasons.get(group, "")})
        return pd.DataFrame(rows)

    def pairs(self) -> pd.DataFrame:
        """Return one row per pair of groups: similarity of loadings and thresholds."""
        import pandas as pd

        return pd.DataFrame(
            [
                {
                    "groups": pair,
                    "congruence": alike,
                    "threshold_rho": link.value,
                    "threshold_rho_lower": link.interval[0],
                    "threshold_rho_upper": link.interval[1],
                    "threshold_p": link.p_value,
                }
                for (pair, link), alike in zip(
                    self.thresholds.items(), self.congruence.tolist(), strict=True
                )
            ]
        )

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return the tables of the study by name."""
        import pandas as pd

        models = [one.to_frame().assign(group=group) for group, one in self.results.items()]
        tables = {"groups": self.to_frame(), "models": pd.concat(models, ignore_index=True)}
        if self.common is not None:
            tables |= {"loadings": self.common.to_frame(), "pairs": self.pairs()}
        return tables

    def findings(self, *, smallest: SmallestEffects = SMALLEST) -> Findings:
        """Return whether one factor fits all groups, and the verdict on each group."""
        alike = Finding(
            key="pairs",
            question="How similar are the groups?",
            rows=tuple(
                f"{pair}: congruence of loadings {number(alike)}; thresholds: {link.text()}"
                for (pair, link), alike in zip(
                    self.thresholds.items(), self.congruence.tolist(), strict=True
                )
            ),
            explanation="Tucker's congruence is one if the loadings are proportional. The rank "
            "correlation of thresholds shows whether models with low thresholds in one group "
            "also have low thresholds in the other. Thresholds may differ even if all groups "
            "share one factor.",
        )
        each = (
            Finding(
                key=f"group {group}",
                question=f"{group}, {count(n)} questions:",
                statement=self.results[group].findings(smallest=smallest).verdict
                if group in self.results
                else f"Not studied: {self.reasons[group]}.",
            )
            for group, n in zip(self.labels, self.n.tolist(), strict=True)
        )
        items = (self._shared(smallest), *([alike] if self.thresholds else []), *each)
        head = f"{len(self.labels)} groups, {count(self.n.sum())} questions."
        return exhibit(Findings(items=items, head=head), self, smallest, by="of_groups")

    def _shared(self, smallest: SmallestEffects) -> Finding:
        common = self.common
        if common is None:
            text = f"One factor over all groups was not tested: {self.without}."
            return Finding(statement=text, reason=self.without)
        judged = common.outcome(alpha=1.0 - self.level, smallest=smallest)
        who = sentence_list(common.groups)
        told = {
            Outcome.ABOVE: f"Models follow different factors in the groups ({who})",
            Outcome.SMALL: f"One factor fits all groups ({who})",
            Outcome.OPEN: f"One factor over all groups ({who}) is not rejected, but different "
            "factors cannot be excluded",
        }[judged]
        cost = with_interval(common.rmsea, common.rmsea_interval, 3)
        return Finding(
            statement=f"{told}: {p_equals(float(common.test.p_value))}, RMSEA {cost} "
            f"({len(common.labels)} models).",
            explanation="If all groups share one factor, loadings are equal in all groups up to "
            "the SD of the factor. Thresholds are estimated separately in each group.",
            numbers={
                "p": float(common.test.p_value),
                "rmsea": common.rmsea,
                "rmsea_interval": common.rmsea_interval,
                "scale": common.scale,
            },
            outcome=judged,
        )


def shared_confidence_by(
    confidence: ResponsesLike,
    correctness: ResponsesLike,
    by: Any,
    *,
    empty_cells: EmptyCells = "keep_margins",
    missing: Missing = "pairwise",
    screen: Screening = "flag",
    n_null: int = 499,
    bootstrap: Bootstrap | int = 2000,
    level: float = 0.95,
    adjustment: Adjustment = "holm",
    rng: RandomState = None,
) -> SharedByGroups:
    """Study shared confidence in each group of questions, and test for a common factor.

    Parameters
    ----------
    confidence, correctness : Responses, DataFrame, DataArray or array_like (models, questions)
        Each model's self-report before answering (1 = yes, I can), and whether the model was
        correct. Both tables have the same models and questions in any order, and may have missing
        answers.
    by : array_like (questions,)
        Group of each question, such as its domain. A Series is aligned by label.
    empty_cells, missing : str
        Rules of the plain tetrachoric spectrum (see `tetrachoric`); they do not affect the verdict
        on the number of factors.
    screen : {"flag", "drop"}
        "flag" keeps every model and names the models that fail the validity screen; "drop"
        excludes unusable models from all results.
    n_null : int
        Number of replicates of each null distribution, and of tables simulated under one factor
        for all groups.
    bootstrap : int or Bootstrap
        Number of resamples of the questions.
    level : float
        Coverage of all intervals; tests use level 1 - `level`.
    adjustment : {"holm", "bonferroni", "bh", "by"}
        Adjustment of p-values for the number of models.
    rng : Generator, int or None
        Source of randomness.

    Returns
    -------
    SharedByGroups
        The result has the study of each group in `results`, and the test of a common factor in
        `common`.

    Raises
    ------
    LabelError
        If there is only one group, or a question has no group.
    ShapeError
        If no group can be studied.
    CodeError
        If the tables are not binary.
    OptionError
        If an option is out of range.

    Examples
    --------
    >>> import psychollm as psy
    >>> from psychollm.data.simulate_study import simulate_study
    >>> made = simulate_study(n_models=6, n_questions=600, rng=0)
    >>> domain = np.where(np.arange(600) < 200, "facts", "code")
    >>> found = psy.studies.shared_confidence_by(
    ...     made.confidence, made.correctness, domain, n_null=19, bootstrap=20, rng=1)
    >>> found.common.rmsea < 0.05
    True
    """
    seed = choose_seed(rng)
    said, right = binary_tables(confidence, correctness)
    member, names = numbered(unit_labels(by, said.questions, argument="by"))
    if len(names) < 2:
        msg = f"by has only one label ({names[0]!r}): a comparison needs at least two groups"
        raise LabelError(msg)
    seeds = np.random.default_rng(seed).integers(2**31, size=len(names) + 1).tolist()
    options: dict[str, Any] = {
        "empty_cells": empty_cells,
        "missing": missing,
        "screen": screen,
        "n_null": n_null,
        "bootstrap": Resampling.of(bootstrap, level, None).required().n,
        "level": level,
        "adjustment": adjustment,
        "rng": seed,
    }
    results: dict[Any, SharedConfidence] = {}
    reasons: dict[Any, str] = {}
    own = {}
    for place, name in enumerate(names):
        here = member == place
        own[name] = said.select(questions=here)
        try:
            results[name] = shared_confidence(
                own[name],
                right.select(questions=here),
                **(options | {"bootstrap": bootstrap, "rng": seeds[place]}),
            )
        except ShapeError as error:
            reasons[name] = str(error)
    if not results:
        msg = f"no group can be studied: {names[0]!r}: {reasons[names[0]]}"
        raise ShapeError(msg)
    common, without = None, "fewer than two groups can be studied"
    if len(results) > 1:
        try:
            common = common_loadings(
                {name: own[name].select(models=results[name].labels) for name in results},
                n_null=n_null,
                rng=seeds[-1],
            )
        except ShapeError as error:
            without = str(error)
    return SharedByGroups(
        results=results,
        reasons=reasons,
        common=common,
        without="" if common else without,
        thresholds={} if common is None else _links(common, n_null, level, seeds[-1]),
        congruence=np.empty(0) if common is None else _congruences(common.loadings),
        n=np.bincount(member),
        labels=names,
        level=level,
        call=call_text("shared_confidence_by", ("confidence", "correctness", "groups"), options),
        seed=seed,
    )


def _links(
    common: CommonLoadings, n_null: int, level: float, seed: int
) -> dict[str, MonitoringLink]:
    """Return rank correlations of thresholds over models, by pair of groups."""
    pairs: Mapping[Hashable, FloatArray] = dict(zip(common.groups, common.thresholds, strict=True))
    return {
        f"{first}, {second}": rank_link(
            pairs[first], pairs[second], common.labels, n_null=n_null, level=level, rng=seed
        )
        for first, second in combinations(common.groups, 2)
    }


def _congruences(loadings: FloatArray) -> FloatArray:
    """Return Tucker's congruence of all pairs of rows (groups, models)."""
    unit = loadings / np.linalg.norm(loadings, axis=1, keepdims=True)
    first, second = np.triu_indices(len(unit), 1)
    return np.asarray((unit @ unit.T)[first, second], dtype=np.float64)
