"""Result of `shared_confidence`, with its findings."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.numbers import (
    count,
    extent,
    number,
    percent,
)
from psychollm._base.result import Result, figure_by
from psychollm._base.types import FloatArray
from psychollm.calibration.consensus.between_models import BetweenModels
from psychollm.calibration.consensus.ensemble import EnsembleGain
from psychollm.calibration.consensus.individuation import Individuation
from psychollm.calibration.consensus.pairwise import PairwiseCalibration
from psychollm.calibration.decisions.confusion import Confusion
from psychollm.calibration.decisions.f_beta import FBeta
from psychollm.data.screen import Screen
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.findings import Finding, Findings, Study, exhibit, sentence
from psychollm.estimates.provenance import cuts
from psychollm.estimates.verdict import (
    SMALLEST,
    Outcome,
    SmallestEffects,
    counted,
    names_of,
    verdicts,
)
from psychollm.factor.one_factor.scores import QuestionScores
from psychollm.studies.dimensionality.result import Dimensionality
from psychollm.studies.people.study import BesidePeople
from psychollm.studies.shared_confidence.among_models import (
    between_models,
    disagreement,
    ensemble,
)
from psychollm.studies.shared_confidence.private_signal import PrivateSignal, known, statement
from psychollm.studies.shared_confidence.residual_structure import ResidualStructure
from psychollm.studies.shared_confidence.summary import rows_of_models, tests_behind

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class SharedConfidence(Study, Result):
    """All results of the study; `summary()` prints the verdict and one table."""

    screen: Screen  # validity of every model
    confusion: Confusion  # yes/no confidence as a classifier of correctness, per model
    f_beta: FBeta  # F-beta over values of beta, with best models and baselines
    between: BetweenModels  # mean confidence compared with accuracy, between models
    dimensionality: Dimensionality  # number of common factors, for the models in its `labels`
    loadings: FloatArray  # (models,) loadings of `dimensionality.one_factor`; NaN if excluded
    thresholds: FloatArray  # (models,) thresholds in the same solution
    scores: QuestionScores  # scores on the common factor, with and without each model
    individuation: Individuation  # information that each self-report adds to the factor score
    # the same information, allowing for error in the score (privileged access)
    private_signal: PrivateSignal
    ensemble: EnsembleGain  # mean vote compared with the best single model
    pairwise: PairwiseCalibration  # correctness of models that disagree about whether they know
    residuals: ResidualStructure  # residuals of confidence and correctness beyond the factor
    # models excluded from all results (screen="drop"), with reasons
    dropped: Mapping[Hashable, str]
    uncorrelated: Mapping[Hashable, str]  # models excluded only from correlations, with reasons
    n_questions: int
    coding: Mapping[str, str]  # coding of "confidence" and "correctness"
    call: str  # code that reproduces this result exactly
    seed: int  # seed in `call`
    versions: Mapping[str, str]  # versions of psychollm, Python, NumPy, SciPy and Numba
    level: float  # coverage of the intervals
    labels: tuple[Hashable, ...]  # (models,) models of the study
    people: BesidePeople | None = None

    @property
    def simulated(self) -> bool:
        """Whether the data are labelled as simulated."""
        return any("SIMULATED" in coding for coding in self.coding.values())

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return the tables of the study by name."""
        dimensions = self.dimensionality
        return {
            "models": self.to_frame(),
            "loadings": self.loadings_frame(),
            "questions": self.scores.to_frame(),
            "dimensionality": dimensions.to_frame(),
            "correlations": dimensions.spectrum.correlation.to_frame(),
            "residuals": dimensions.residuals.to_frame(),
            "f_beta": self.f_beta.to_frame(),
            "between_models": self.between.to_frame(),
            "individuation": self.individuation.to_frame(),
            "private_signal": self.private_signal.to_frame(),
            "pairwise_calibration": self.pairwise.to_frame(),
            "ensemble": self.ensemble.to_frame(),
            "screen": self.screen.to_frame(),
        }

    def findings(self, *, smallest: SmallestEffects = SMALLEST) -> Findings:
        """Return the verdict, and one finding per research question."""
        found = Findings(
            head=_head(self),
            items=(
                _verdict(self, smallest),
                _structure(self.dimensionality, smallest),
                _thresholds(self),
                _own(self, smallest),
                _agreement(self, smallest),
                _risk(self),
                between_models(self.between, self.level, smallest),
                disagreement(self.pairwise, smallest),
                ensemble(self.ensemble, smallest),
                *self.residuals.findings(smallest=smallest),
                _validity(self),
                _repeat(self),
            ),
        )
        return exhibit(found, self, smallest)

    def summary(self, *, smallest: SmallestEffects = SMALLEST) -> str:
        """Return the verdict with its numbers, and a table of the models; at most 24 lines.

        Parameters
        ----------
        smallest : SmallestEffects
            Smallest effects of interest.
        """
        found = self.findings(smallest=smallest)
        basis = Finding(statement=tests_behind(self.dimensionality, self.private_signal)).text()
        models = rows_of_models(
            self.labels, self.confusion, self.thresholds, self.loadings, self.private_signal
        )
        return "\n".join(
            [found.head, found.items[0].text(), basis, found["validity"].text(), models]
        )

    def to_frame(self) -> pd.DataFrame:
        """Return one row per model with rates, threshold, loading, AUROC, tests and flags."""
        import pandas as pd

        table, own, private = self.confusion, self.individuation, self.private_signal
        columns: dict[str, object] = {"model": list(self.labels), "n": table.n}
        for estimate in (table.yes_rate, table.accuracy, table.overconfidence):
            columns |= _bounded(estimate.name.replace(" ", "_"), estimate)
        for estimate in (table.precision, table.recall, table.specificity):
            columns[estimate.name] = estimate.value
        columns |= {"threshold": self.thresholds, "loading": self.loadings}
        for name in ("shared", "own", "own_minus_cut"):
            columns |= _bounded(f"auroc_{name}", getattr(own, name))
        columns |= _bounded("odds_ratio", own.odds_ratio)
        columns["odds_ratio_p_adjusted"] = own.p_adjusted
        columns |= _bounded("private_correlation", private.correlation)
        columns["private_p_adjusted"] = private.p_adjusted
        columns |= _bounded("ensemble_gain", self.ensemble.gain)
        reasons = dict(zip(self.screen.models, self.screen.reasons, strict=True))
        columns["flags"] = ["; ".join(reasons[label]) for label in self.labels]
        return pd.DataFrame(columns)

    def loadings_frame(self) -> pd.DataFrame:
        """Return one row per model: threshold and loading, with and without continuity correction.

        ``loading`` comes from the full-information solution, which needs no continuity correction.
        If lapses were fitted, ``loading`` is corrected for lapses, and the table also has the
        columns ``loading_without_lapses`` and ``lapse_rate``. ``first_component`` and its
        ``quadratic_fit`` on the threshold come from the plain tetrachoric spectrum, which depends
        on the continuity correction.
        """
        import pandas as pd

        dimensions = self.dimensionality
        full, plain = dimensions.one_factor, dimensions.spectrum
        thresholds = plain.correlation.thresholds
        fit = np.vander(thresholds, 3, increasing=True) @ plain.quadratic
        columns: dict[str, object] = {
            "model": list(self.labels),
            "yes_rate": self.confusion.yes_rate.value,
        }
        parts: tuple[tuple[str, tuple[Hashable, ...], FloatArray], ...] = (
            ("threshold", full.labels, full.thresholds),
            ("threshold_se", full.labels, full.se_thresholds),
            ("loading", full.labels, full.loadings),
            ("loading_se", full.labels, full.se_loadings),
            ("first_component", plain.correlation.labels, plain.first_loadings),
            ("quadratic_fit", plain.correlation.labels, fit),
        )
        if dimensions.with_lapses is not None:
            lapses, without = dimensions.with_lapses.fit, dimensions.full_information
            parts += (
                ("loading_without_lapses", without.labels, without.loadings),
                ("lapse_rate", lapses.labels, lapses.rate.value),
                ("lapse_rate_lower", lapses.labels, lapses.rate.interval[:, 0]),
                ("lapse_rate_upper", lapses.labels, lapses.rate.interval[:, 1]),
            )
        for name, labels, values in parts:
            columns[name] = spread_over(self.labels, labels, values)
        return pd.DataFrame(columns)

    def plot(self, *, figure: str = "overview") -> Figure:
        """Plot the study, or one of its figures: `psychollm.plots.plot_shared_confidence`."""
        return figure_by("plot_shared_confidence")(self, figure=figure)

    def __repr__(self) -> str:
        return (
            f"SharedConfidence of {len(self.labels)} models on {self.n_questions:,} questions: "
            f"{self.verdict}"
        )


def spread_over(
    labels: Sequence[Hashable], some: Sequence[Hashable], values: FloatArray
) -> FloatArray:
    """Return values of some models as an array over all models, with NaN for other models."""
    known = dict(zip(some, values, strict=True))
    return np.array([known.get(label, np.nan) for label in labels])


def _bounded(name: str, estimate: Estimate) -> dict[str, object]:
    low, high = estimate.interval.T
    return {name: estimate.value, f"{name}_lower": low, f"{name}_upper": high}


def _head(study: SharedConfidence) -> str:
    simulated = "SIMULATED DATA. " if study.simulated else ""
    return (
        f"{simulated}Confidence and correctness of {len(study.labels)} models on "
        f"{count(study.n_questions)} questions; {percent(study.level)} intervals"
    )


def verdict(study: SharedConfidence, smallest: SmallestEffects) -> str:
    """State the number of factors and the models that predict their own correctness."""
    return ", ".join(filter(None, [cuts(study.coding), _shared(study, smallest)]))


def _shared(study: SharedConfidence, smallest: SmallestEffects) -> str:
    dimensions = study.dimensionality
    second = dimensions.second_factor(smallest=smallest)
    knows = study.private_signal.verdicts(smallest).which(Outcome.ABOVE)
    n = len(study.labels)
    whose = f"{len(knows)} of {n} models" if len(knows) > 3 else " and ".join(knows)
    if dimensions.n_factors == 0:
        shown = {Outcome.SMALL: "relevant"}
        what = shown.get(dimensions.shared_factor(smallest=smallest), "significant")
        return f"confidence has no {what} common factor in {count(study.n_questions)} questions"
    shared = {
        Outcome.ABOVE: "confidence is explained by more than one common factor",
        Outcome.SMALL: "confidence is explained by one common factor",
        Outcome.OPEN: (
            "confidence is explained by one common factor; a second factor cannot be excluded"
        ),
    }[second]
    if second is not Outcome.ABOVE and dimensions.n_factors == 2:
        shared = "confidence is explained by one common factor, with local dependence"
    elif second is not Outcome.ABOVE and (lapses := dimensions.with_lapses) is not None:
        median = percent(float(np.median(lapses.fit.rate.value)), 1)
        lapsing = f" with lapses (median {median} of answers)" if lapses.fit.evident else ""
        shared = shared.replace("one common factor", f"one common factor{lapsing}")
    if second is Outcome.ABOVE and knows:
        return (
            f"{shared}. The confidence of {whose} predicts correctness beyond the first factor, "
            "because of a second factor or of self-knowledge"
        )
    if knows:
        own = "its" if len(knows) == 1 else "their"
        return (
            f"{shared}. {whose} also predict{'s' * (own == 'its')} {own} own correctness "
            "beyond the common factor"
        )
    own = known(study.private_signal, smallest)
    return f"{shared}. {own[:1].upper()}{own[1:]}"


def _verdict(study: SharedConfidence, smallest: SmallestEffects) -> Finding:
    known = study.private_signal.verdicts(smallest).count(Outcome.ABOVE)
    return Finding(
        question="Verdict.",
        statement=sentence(verdict(study, smallest)),
        numbers={"n_factors": study.dimensionality.n_factors, "models_that_know": known},
    )


def _structure(dimensions: Dimensionality, smallest: SmallestEffects) -> Finding:
    own = dimensions.findings(smallest=smallest)
    return Finding(
        key="structure",
        question="How many common factors?",
        statement=f"{own.verdict} Without continuity correction, {own['tests'].statement}",
        explanation=sentence(own["spectrum"].statement),
        numbers={
            "n_factors": dimensions.n_factors,
            "p_no_factor": dimensions.shared_test.p_value,
            "p_one_factor": dimensions.one_factor_test.p_value,
            "second_share": dimensions.second_share.observed,
            "second_share_chance": float(dimensions.second_share.quantile(0.5)),
            **_lapse_numbers(dimensions),
        },
        outcome=dimensions.second_factor(smallest=smallest),
    )


def _lapse_numbers(dimensions: Dimensionality) -> dict[str, Any]:
    """Return the results of the one-factor model with lapses, if it was fitted."""
    lapses = dimensions.with_lapses
    if lapses is None:
        return {}
    return {
        "p_one_factor_with_lapses": lapses.p_value,
        "second_share_with_lapses": lapses.second_share.observed,
        "lapse_rate": lapses.fit.rate,
    }


def _thresholds(study: SharedConfidence) -> Finding:
    full = study.dimensionality.full_information
    with_lapses = study.dimensionality.one_factor_model == "with lapses"
    flags = zip(full.labels, full.at_bound & (not with_lapses), strict=True)
    at_bound = [label for label, flag in flags if flag]
    named = ", ".join(map(str, at_bound))
    bound = ""
    if len(at_bound) == 1:
        bound = f" Heywood case: the loading of {named} is at its bound and has no standard error."
    elif at_bound:
        bound = (
            f" Heywood cases: the loadings of {named} are at their bounds and have no standard "
            "errors."
        )
    return Finding(
        key="thresholds",
        question="What are the thresholds and loadings?",
        statement=(
            f"Thresholds range from {extent(study.thresholds)}, loadings from "
            f"{extent(study.loadings)}{', without lapses' * with_lapses}; the factor score of "
            f"a question has a reliability of {number(study.scores.reliability)}.{bound}"
        ),
        explanation=(
            "A model answers yes if its latent confidence exceeds its threshold. Thresholds are "
            "in standard deviations of the latent confidence. A model with a high threshold seldom"
            " says yes. The loading is the correlation of the latent confidence with the common "
            "factor."
        ),
        numbers={"reliability": study.scores.reliability},
    )


def _own(study: SharedConfidence, smallest: SmallestEffects) -> Finding:
    own, private = study.individuation, study.private_signal
    row = {name: place for place, name in enumerate(own.average.labels)}
    naive = int((own.p_adjusted <= 1.0 - study.level).sum())
    tested = int(np.isfinite(private.p_value).sum())
    return Finding(
        key="own",
        question="Do models predict their own correctness beyond the common factor?",
        statement=(
            "The factor score of the other models predicts a model's correctness with a mean "
            f"AUROC of {own.average.text(row['shared'], 3)}, the self-report with "
            f"{own.average.text(row['own'], 3)}. At equal yes rates, the AUROC of the "
            "self-report minus that of the factor score is "
            f"{own.average.text(row['own_minus_cut'], 3, signed=True)}. If the measurement error "
            "of the factor score is ignored, adding self-reports to the factor score improves "
            f"the prediction in {naive} of {tested} models. If the measurement error is modelled, "
            f"{statement(private, smallest)}"
        ),
        explanation=(
            "Because the factor score has measurement error, a self-report that reflects only "
            "the common factor still improves the prediction. The test accounts for the "
            "measurement error of the factor score."
        ),
        numbers={
            "own_minus_shared_at_equal_rate": own.own_minus_cut,
            "private_correlation": private.correlation,
            "mean_private_correlation": private.mean,
            "mean_private_correlation_p": private.mean_p,
        },
        outcome=private.verdicts(smallest),
    )


def _agreement(study: SharedConfidence, smallest: SmallestEffects) -> Finding:
    gap = study.confusion.overconfidence
    often = f"yes about as often as correct (±{smallest.share:g})"
    words = {
        Outcome.ABOVE: ("says yes too often", "say yes too often"),
        Outcome.BELOW: ("says yes too rarely", "say yes too rarely"),
        Outcome.SMALL: (f"says {often}", f"say {often}"),
    }
    told = sentence(counted(verdicts(gap, smallest=smallest.share), words))
    return Finding(
        key="agreement",
        question="How well does confidence match correctness?",
        statement=(
            f"{told} Yes rate minus accuracy ranges from {extent(gap.value, signed=True)}."
        ),
        numbers={"overconfidence": gap},
        outcome=verdicts(gap, smallest=smallest.share),
    )


def _risk(study: SharedConfidence) -> Finding:
    sweep = study.f_beta
    one = int(np.abs(np.log(sweep.betas)).argmin())
    clearly = int((sweep.beats_all_yes[:, one] >= 0.5 * (1.0 + study.level)).sum())
    return Finding(
        key="risk",
        question="Which model has the best F-beta?",
        statement=(
            "As a classifier of correctness, confidence has an F1 of "
            f"{extent(sweep.value[:, one])}; {clearly} of {len(study.labels)} models "
            f"{'exceeds' if clearly == 1 else 'exceed'} a baseline that always says yes "
            f"({extent(sweep.all_yes[:, one])}). {_leaders(study)}"
        ),
        explanation=(
            "F-beta weighs precision against recall: at low β a wrong yes costs more, at high β a "
            "missed yes. The baseline always says yes, so its precision is the model's accuracy."
        ),
        numbers={"f1": sweep.value[:, one], "f1_always_yes": sweep.all_yes[:, one]},
    )


def _leaders(study: SharedConfidence) -> str:
    sweep = study.f_beta
    if not len(sweep.leaders):
        return "No model answers correctly any question to which it says yes."
    names = [str(study.labels[row]) for row in sweep.leaders]
    if len(names) == 1:
        return f"{names[0]} has the highest F-beta for every beta."
    turns = [
        f"{name} from {beta:.2g}" for beta, name in zip(sweep.crossings, names[1:], strict=True)
    ]
    return (
        f"The model with the highest F-beta is {names[0]} for low beta, then "
        f"{names_of(turns, most=5)}."
    )


def _validity(study: SharedConfidence) -> Finding:
    screen = study.screen
    flagged = [
        f"{model}: {'; '.join(reasons)}"
        for model, reasons in zip(screen.models, screen.reasons, strict=True)
        if reasons
    ]
    left = [
        f"excluded from {what}: " + ", ".join(f"{model} ({why})" for model, why in models.items())
        for what, models in (
            ("everything", study.dropped),
            ("the correlations", study.uncorrelated),
        )
        if models
    ]
    usable = int(screen.usable.sum())
    kept = not study.dropped and usable < len(screen.models)
    return Finding(
        key="validity",
        question="Are the answers usable?",
        statement=(
            f"{usable} of {len(screen.models)} models gave usable answers; "
            f"{len(flagged) or 'none'} {'are' if len(flagged) > 1 else 'is'} flagged."
            + " The results include the flagged models."
            * kept
        ),
        rows=(*flagged, *left),
        numbers={"usable": usable, "flagged": len(flagged)},
    )


def _repeat(study: SharedConfidence) -> Finding:
    packages = ", ".join(f"{name} {version}" for name, version in study.versions.items())
    call = ", ".join(filter(None, [study.call, cuts(study.coding)]))
    return Finding(key="repeat", question="To repeat:", statement=f"{call}; {packages}.")
