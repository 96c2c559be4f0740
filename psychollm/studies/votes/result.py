"""Results from votes: strengths, ranks, tiers, voters, and predictions of new votes."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.checks import float_array
from psychollm._base.errors import LabelError, ShapeError
from psychollm._base.frames import in_pandas
from psychollm._base.numbers import count, number, percent, with_interval
from psychollm._base.result import Result, drawn_by
from psychollm._base.shown import one_line
from psychollm._base.types import FloatArray, IntArray, RandomState
from psychollm._base.typeset import markdown_text
from psychollm.data.labels import Labels, listed
from psychollm.estimates.comparisons import Comparisons
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.findings import (
    Finding,
    Findings,
    Study,
    exhibit,
    first_rows,
    sentence_list,
)
from psychollm.estimates.reasons import Reason
from psychollm.estimates.verdict import SMALLEST, Outcome, SmallestEffects, Verdicts, outcome
from psychollm.studies.votes.cycles import Cycles, cycles_of
from psychollm.studies.votes.next_pairs import NextPairs, next_pairs_of
from psychollm.studies.votes.prediction import expected_chances

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes as Drawn

_ROWS = 10  # number of models in the summary
_SHOWN = 3  # number of differences in the summary
_ELO = 400.0 / np.log(10.0)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FitStatistics(Result):
    """Number of votes, and fit of the model."""

    n_votes: int
    n_models: int
    n_voters: int
    n_prompts: int
    n_without_winner: int  # number of omitted rows
    log_likelihood: float  # marginal log-likelihood
    log_loss: float  # mean log loss per vote, in sample
    base_log_loss: float  # log loss if only the rates of left, tie and right are used
    over: str  # clusters of the standard errors
    prior: float  # SD of strengths
    rounds: int
    converged: bool
    prompt_sd: float | None = None  # SD of each model's strength between prompts, in logits
    prompt_scale: float | None = None  # strengths on a typical prompt, relative to the average

    _AXES = Axes(
        {}, "n_votes", "n_models", "n_voters", "n_prompts", "n_without_winner", "log_likelihood",
        "log_loss", "base_log_loss", "over", "prior", "rounds", "converged",
        "prompt_sd",
    )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Voters(Result):
    """Voters' effects on side, ties and discrimination, shrunk towards the mean voter."""

    labels: Labels  # (voters,)
    n_votes: IntArray  # (voters,)
    effects: FloatArray  # (voters, 3) effects on the logit scale; discrimination is a logarithm
    se: FloatArray  # (voters, 3)
    roots: FloatArray  # (voters, 3, 3) roots of the effects' covariances
    kind: IntArray  # (voters,) index of the kind with deviations, -1 for the others
    sd: FloatArray  # (3,) SDs of side, ties and discrimination between voters

    _AXES = Axes(
        {"voter": "labels"},
        "n_votes",
        ("side", lambda one: one.effects[:, 0]),
        ("side_se", lambda one: one.se[:, 0]),
        ("ties", lambda one: one.effects[:, 1]),
        ("ties_se", lambda one: one.se[:, 1]),
        ("discrimination", lambda one: np.exp(one.effects[:, 2])),
        ("log_discrimination_se", lambda one: one.se[:, 2]),
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Kinds(Result):
    """Comparison of each kind of voters, or each very frequent voter, with all other voters."""

    labels: Labels  # (kinds,)
    n_votes: IntArray  # (kinds,)
    deviations: FloatArray  # (kinds, models) deviations from the strengths
    spread: FloatArray  # (kinds,) SD of the deviations
    correlation: FloatArray  # (kinds,) correlation with the true strengths of the other kinds
    worth: FloatArray  # (kinds,) information of a vote, relative to a vote of the others

    _AXES = Axes({"kind": "labels"}, "n_votes", "correlation", "worth", "spread")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pairs(Result):
    """Residuals of the votes on each pair."""

    i: IntArray  # (pairs,) index of the stronger model
    j: IntArray  # (pairs,)
    n: FloatArray  # (pairs,) votes
    residual: FloatArray  # (pairs,) wins of i minus expected wins; ties count as half
    information: FloatArray  # (pairs,) information on the difference, net of voters' effects

    _AXES = Axes({}, "i", "j", "n", "residual", "information")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BradleyTerry(Study, Result):
    """Models ordered by strength, with ranks, tiers and all pairwise differences.

    Examples
    --------
    >>> votes = [("a", "b", "left")] * 30 + [("b", "a", "tie")] * 9 + [("a", "b", "right")] * 5
    >>> from psychollm.studies.votes.study import bradley_terry
    >>> bradley_terry(votes, rng=1).to_frame()[["model", "rank", "tier", "n_votes"]]
      model  rank  tier  n_votes
    0     a     1     1       44
    1     b     2     2       44
    """

    strengths: Estimate  # (models,) logits, mean 0 in each set; pointwise intervals
    # (models,) win rate against the other models of the set; ties count as half
    win_rates: Estimate
    differences: Comparisons  # differences of all pairs, with simultaneous intervals
    rank: IntArray  # (models,) 1 for the strongest of its set
    rank_interval: IntArray  # (models, 2) simultaneous bounds
    tier: IntArray  # (models,) 1 for the best and models indistinguishable from it
    component: IntArray  # (models,) 1 for the largest set of models that votes connect
    n_votes: IntArray  # (models,)
    ties: Estimate  # (1,) probability of a tie between equals
    side: Estimate  # (1,) advantage of the left side in logits
    covariates: Estimate  # (covariates,) effects on the logit per unit of the difference
    voters: Voters
    kinds: Kinds
    fit: FitStatistics
    pairs: Pairs
    covariance: FloatArray  # (models, models) model-based covariance of strengths
    parameters: FloatArray  # side, log tie parameter, three SDs of voters, SD of strengths
    labels: Labels  # (models,)
    level: float

    _AXES = Axes(
        {"model": "labels"},
        "strength=strengths.value",
        "se=strengths.se",
        "{bound}=strengths.interval",
        "rank",
        "rank_{bound}=rank_interval",
        "tier",
        "n_votes",
    )

    @property
    def score(self) -> Estimate:
        """Alias of `strengths`, under the name that functions for comparing scores use."""
        return self.strengths

    @property
    def ranks(self) -> "pd.DataFrame":
        """Rank of each model with simultaneous bounds."""
        return self.to_frame()[["model", "rank", "rank_lower", "rank_upper"]]

    @property
    def tiers(self) -> tuple[Labels, ...]:
        """Models of each tier, the best first, by set of connected models."""
        rows = range(len(self.labels))
        keys = sorted({(int(self.component[row]), int(self.tier[row])) for row in rows})
        return tuple(
            tuple(self.labels[row] for row in rows if (self.component[row], self.tier[row]) == key)
            for key in keys
        )

    def elo(self, *, centre: float = 1000.0) -> "pd.DataFrame":
        """Return strengths on the Elo scale: 400 points are odds of ten to one.

        Parameters
        ----------
        centre : float
            Mean rating of the models.

        Examples
        --------
        >>> from psychollm.studies.votes.study import bradley_terry
        >>> votes = [("a", "b", "left"), ("b", "a", "right")] * 15
        >>> votes += [("a", "b", "right"), ("b", "a", "left")] * 5
        >>> bradley_terry(votes, rng=1).elo()["elo"].round(-1).tolist()
        [1090.0, 910.0]
        """
        found = self.to_frame()[["model", "strength", "se", "lower", "upper"]]
        found = found.rename(columns={"strength": "elo"})
        for name in ("elo", "lower", "upper"):
            found[name] = centre + _ELO * found[name]
        return found.assign(se=_ELO * found["se"])

    def predict(
        self,
        left: Any,
        right: Any,
        voter: Any = None,
        *,
        covariates: Any = None,
    ) -> FloatArray:
        """Return the probabilities of left, tie and right (n, 3) of new votes.

        Parameters
        ----------
        left, right : sequence of labels (n,)
            Models on the left side and models on the right side.
        voter : sequence of labels (n,), optional
            Voters. Predictions for new voters, or for all voters if `voter` is None, are averaged
            over the distribution of voters.
        covariates : array_like (n, covariates), optional
            Differences of covariates, left minus right; by default 0.

        Raises
        ------
        LabelError
            If a model has no vote.
        ShapeError
            If the sequences differ in length.

        Examples
        --------
        >>> from psychollm.studies.votes.study import bradley_terry
        >>> votes = [("a", "b", "left")] * 30 + [("b", "a", "tie")] * 10
        >>> bradley_terry(votes, rng=1).predict(["b"], ["a"]).shape
        (1, 3)
        """
        one, other = self._places(left, "left"), self._places(right, "right")
        if one.size != other.size:
            msg = f"left has {one.size} models but right has {other.size}: pass equal numbers"
            raise ShapeError(msg)
        value = self.strengths.value
        delta = value[one] - value[other] + self._shifts(covariates, one.size)
        variance = np.diag(self.covariance)
        spread = variance[one] + variance[other] - 2.0 * self.covariance[one, other]
        who = self._who(voter, one.size)
        own = np.append(self.voters.kind, -1)[who]
        deviations = np.vstack([self.kinds.deviations, np.zeros((1, value.size))])
        new = np.diag(self.parameters[2:5])[None]
        scale = self.fit.prompt_scale or 1.0  # predictions are averages over prompts
        return expected_chances(
            delta / scale,
            (self.parameters[0] + deviations[own, one] - deviations[own, other]) / scale,
            self.parameters[1],
            spread=np.sqrt(np.maximum(spread, 0.0)) / scale,
            effects=np.vstack([self.voters.effects, np.zeros((1, 3))]),
            roots=np.concatenate([self.voters.roots, new]),
            voter=who,
        )

    def cycles(self, *, n_draws: int = 2000, rng: RandomState = None) -> Cycles:
        """Test whether votes are cyclic, so that strengths are not additive around triangles.

        Parameters
        ----------
        n_draws : int
            Number of data sets simulated under the null hypothesis of additive strengths.
        rng : Generator, int or None
            Source of randomness.

        Returns
        -------
        Cycles
            The p-value for the absence of cycles, and the triangles with p-values adjusted for all
            triangles.
        """
        value = self.strengths.value / (self.fit.prompt_scale or 1.0)
        return cycles_of(
            self.pairs.i, self.pairs.j, value[self.pairs.i] - value[self.pairs.j],
            self.pairs.residual, self.pairs.information, self.labels,
            n_draws=n_draws, rng=rng,
        )  # fmt: skip

    def next_pairs(self, n: int = 10) -> NextPairs:
        """Return the pairs to vote on next, ordered by their information about the tiers.

        Parameters
        ----------
        n : int
            Number of new votes.
        """
        half = 0.5 * np.diff(self.differences.interval, axis=1)[:, 0]
        return next_pairs_of(
            self.strengths.value, self.covariance, half, self.differences.se, self.component,
            float(np.exp(self.parameters[1])), self.labels, n,
        )  # fmt: skip

    def plot(self, *, ax: "Drawn | None" = None) -> "Drawn":
        """Draw strengths and ranks, tier by tier: `psychollm.plots.plot_comparison`."""
        return drawn_by("plot_comparison")(self, ax=ax)

    def tables(self) -> "dict[str, pd.DataFrame]":
        """Return the tables of models, pairs, voters and kinds."""
        found = {"table": self.to_frame(), "pairs": self.differences.to_frame()}
        if self.voters.labels:
            found["voters"] = self.voters.to_frame()
        if self.kinds.labels:
            found["kinds"] = self.kinds.to_frame()
        return found

    def findings(self, *, smallest: SmallestEffects = SMALLEST) -> Findings:
        """Return the strongest model, the ranks, the differences, and effects on the votes."""
        judged = self.outcomes(smallest=smallest)
        rows = self._adjacent()
        items = [
            Finding(
                statement=self._verdict(judged),
                numbers={"strength": self.strengths},
                outcome=judged,
            ),
            Finding(
                key="ranks",
                question="How do the models rank?",
                rows=first_rows(range(len(self.labels)), self._model, most=_ROWS, table="models"),
                explanation=(
                    "Strengths are logits with mean 0 and pointwise intervals. The bounds of all "
                    f"ranks are simultaneous (coverage {percent(self.level)}). A tier ends "
                    "before the first model that is significantly weaker than the best model of "
                    "the tier."
                ),
                numbers={"rank": self.rank, "rank_interval": self.rank_interval},
            ),
            Finding(
                key="differences",
                question="How much does each model differ from the next-ranked one?",
                rows=first_rows(rows, self._pair, most=_SHOWN, table="pairs"),
                explanation="Intervals of differences are simultaneous over all pairs of models.",
                numbers={
                    "value": self.differences.value,
                    "interval": self.differences.interval,
                },
            ),
            Finding(
                key="votes",
                question="What else affects the votes?",
                rows=self._swayed(),
                numbers={"side": self.side, "ties": self.ties, "sd": self.voters.sd},
            ),
        ]
        if self.kinds.labels:
            items.append(self._beside())
        clusters = ((self.fit.n_voters, "voter"), (self.fit.n_prompts, "prompt"))
        head = (
            f"{count(len(self.labels))} models, {count(self.fit.n_votes)} votes"
            + "".join(f", {count(n)} {unit}{'s' * (n > 1)}" for n, unit in clusters if n)
            + (
                f"; {count(self.fit.n_without_winner)} rows without a winner were omitted"
                if self.fit.n_without_winner
                else ""
            )
            + "."
        )
        return exhibit(Findings(items=tuple(items), head=head), self, smallest)

    def outcomes(self, *, smallest: SmallestEffects = SMALLEST) -> Verdicts:
        """Return the conclusion from each pair's interval.

        Parameters
        ----------
        smallest : SmallestEffects
            `share` is the smallest excess of a win rate over one half that is of interest.
        """
        pairs = self.differences
        least = 4.0 * smallest.share  # in logits, for models that are nearly equal
        return Verdicts(
            tuple(f"{a} - {b}" for a, b in zip(pairs.first, pairs.second, strict=True)),
            tuple(
                Outcome.APART
                if flag == Reason.NOT_CONNECTED
                else outcome(bounds, smallest=least, enough=flag != Reason.FEW_CLUSTERS)
                for bounds, flag in zip(pairs.interval, pairs.flags, strict=True)
            ),
        )

    def comment(self, *, smallest: SmallestEffects = SMALLEST) -> str:
        """Return the verdict and a table of models as short Markdown, for a pull request.

        Parameters
        ----------
        smallest : SmallestEffects
            `share` is the smallest excess of a win rate over one half that is of interest.
        """
        found = self.findings(smallest=smallest)
        rows = ["| model | strength | rank | tier |", "|---|---|---|---|"]
        for row, model in enumerate(self.labels):
            name = markdown_text(one_line(str(model)))
            text = self.strengths.text(row, 2, signed=True)
            rows.append(f"| {name} | {text} | {self._bounds(row)} | {self.tier[row]} |")
        return "\n\n".join(
            (markdown_text(found.verdict), "\n".join(rows), markdown_text(found.head))
        )

    def _places(self, labels: Any, argument: str) -> IntArray:
        values = in_pandas(labels)
        if isinstance(values, str) or np.ndim(values) != 1:
            msg = f"{argument} must be a sequence of models, one per vote"
            raise ShapeError(msg)
        place = {label: row for row, label in enumerate(self.labels)}
        found = [place.get(one, -1) for one in list(values)]
        if -1 in found:
            unknown = list(values)[found.index(-1)]
            msg = f"{argument}: model {unknown!r} has no votes: use one of "
            raise LabelError(msg + listed(self.labels))
        return np.array(found, dtype=np.int64)

    def _who(self, voter: Any, n: int) -> IntArray:
        new = len(self.voters.labels)
        if voter is None:
            return np.full(n, new)
        values = in_pandas(voter)
        if isinstance(values, str) or np.ndim(values) != 1 or len(values) != n:
            msg = f"voter must be a sequence of {n} labels, one per vote"
            raise ShapeError(msg)
        place = {label: row for row, label in enumerate(self.voters.labels)}
        found = []
        for one in list(values):
            try:
                found.append(place.get(one, new))
            except TypeError:
                found.append(new)
        return np.array(found, dtype=np.int64)

    def _shifts(self, covariates: Any, n: int) -> FloatArray:
        q = len(self.covariates.labels)
        if covariates is None or not q:
            return np.zeros(n)
        values = float_array(covariates, "covariates")
        if values.ndim == 1 and q == 1:
            values = values[:, None]
        if values.shape != (n, q):
            msg = f"covariates has shape {values.shape}: pass {n} rows of {q} differences"
            raise ShapeError(msg)
        return np.asarray(values @ self.covariates.value)

    def _adjacent(self) -> list[int]:
        i, j = np.triu_indices(len(self.labels), 1)
        return np.flatnonzero((j == i + 1) & (self.component[i] == self.component[j])).tolist()

    def _pair(self, row: int) -> str:
        pairs = self.differences
        gap = with_interval(pairs.value[row], pairs.interval[row], 2, signed=True)
        return f"{pairs.first[row]} minus {pairs.second[row]}: {gap}"

    def _bounds(self, row: int) -> str:
        low, high = self.rank_interval[row]
        return str(low) if low == high else f"{low} to {high}"

    def _model(self, row: int) -> str:
        text = f"{self.labels[row]}: strength {self.strengths.text(row, 2, signed=True)}"
        part = f" of set {self.component[row]}" if self.component.max() > 1 else ""
        flag = self.strengths.flags[row]
        told = f" ({flag})" if flag else ""
        return f"{text}, rank {self._bounds(row)}, tier {self.tier[row]}{part}{told}"

    def _verdict(self, judged: Verdicts) -> str:
        parts = [self._best(part) for part in range(1, int(self.component.max()) + 1)]
        shown = sum(one.shown for one in judged.outcomes)
        pairs = len(judged.outcomes)
        if len(parts) > 1:
            parts.insert(
                0, f"No vote links {len(parts)} sets of models: strengths cannot be compared "
                "between sets."
            )  # fmt: skip
        if pairs > 1:
            parts.append(f"{count(shown)} of {count(pairs)} pairs of models differ significantly.")
        return " ".join(parts)

    def _best(self, part: int) -> str:
        own = self.component == part
        top = int(np.flatnonzero(own)[0])
        rivals = np.flatnonzero(own & (self.rank_interval[:, 0] == 1))
        others = [self.labels[row] for row in rivals if row != top]
        first = f"{self.labels[top]} is strongest ({self.strengths.text(top, 2, signed=True)})"
        if len(others) == own.sum() - 1:
            return f"{first}, but no model is significantly weaker."
        if others:
            return f"{first}; {sentence_list(others)} may be as strong."
        return f"{first} and significantly stronger than every other model."

    def _swayed(self) -> tuple[str, ...]:
        rows = [f"advantage of the left side: {self.side.text(0, 2, signed=True)} logits"]
        rows.append(f"probability of a tie between equals: {self.ties.text(0, 3)}")
        rows += [
            f"{name}: {self.covariates.text(row, 3, signed=True)} logits per unit"
            for row, name in enumerate(self.covariates.labels)
        ]
        if self.voters.labels:
            side, ties, slope = (number(one, 2) for one in self.voters.sd)
            rows.append(
                f"SD between voters: side {side} logits, log tie parameter {ties}, log "
                f"discrimination {slope}"
            )
        if self.fit.prompt_sd:
            rows.append(f"SD of strengths between prompts: {number(self.fit.prompt_sd, 2)} logits")
        return tuple(rows)

    def _beside(self) -> Finding:
        kinds = self.kinds
        rows = tuple(
            f"{label}: strengths correlate {number(kinds.correlation[row], 2)} with those of the "
            "other voters (corrected for noise); a vote carries "
            f"{number(kinds.worth[row], 2)} times the information of another voter's vote"
            for row, label in enumerate(kinds.labels)
        )
        return Finding(
            key="kinds",
            question="How well do kinds of voters agree?",
            rows=rows,
            numbers={"correlation": kinds.correlation, "worth": kinds.worth},
        )
