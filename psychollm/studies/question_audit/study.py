r"""Detection of wrong keys and other faulty questions from models' answers.

The probability of each fault of each question follows from the likelihoods in module `evidence`
and the proportions in module `mixture`. The table needs no expert labels. Equation (1) is the
expected false discovery rate of a set S of flagged questions.

.. math:: \operatorname{FDR}(S) = 1 - \frac{1}{|S|} \sum_{q \in S} p_q                \quad (1)

The method `flagged` returns the largest set of the most suspicious questions whose expected rate
does not exceed the bound.

To check itself, the audit corrupts one in twenty keys of the table at random, fits the model again
and counts the corrupted keys that it flags. Questions with unchanged keys keep their probabilities
from the original table. If the probabilities imply more corrupted keys than there are, the
probabilities are lowered, in logits, until both numbers agree.

References
----------
Dawid, A. P., & Skene, A. M. (1979). Maximum likelihood estimation of observer error-rates using
the EM algorithm. Applied Statistics, 28, 20-28. https://doi.org/10.2307/2346806

Gema, A. P., et al. (2025). Are we done with MMLU? Proceedings of NAACL 2025, 5069-5096.
https://doi.org/10.18653/v1/2025.naacl-long.262

Newton, M. A., Noueiry, A., Sarkar, D., & Ahlquist, P. (2004). Detecting differential gene
expression with a semiparametric hierarchical mixture method. Biostatistics, 5, 155-176.
https://doi.org/10.1093/biostatistics/5.2.155
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, logit

from psychollm._base.axes import Axes
from psychollm._base.checks import check_choice, check_count, check_fraction, check_generator
from psychollm._base.errors import ShapeError
from psychollm._base.numbers import count, number, percent
from psychollm._base.result import Result, drawn_by, view
from psychollm._base.types import FloatArray, IntArray, RandomState
from psychollm.data.labels import Labels
from psychollm.estimates.findings import Finding, Findings, Study, exhibit, further
from psychollm.estimates.verdict import SMALLEST, SmallestEffects
from psychollm.studies.question_audit.answers import Answers, answers_of, family_weights, groups_of
from psychollm.studies.question_audit.mixture import fitted

if TYPE_CHECKING:
    from os import PathLike
    from pathlib import Path

    import pandas as pd
    from matplotlib.axes import Axes as Drawn

Fault: TypeAlias = Literal["wrong_key", "any"]
STATED = (0.1, 0.2, 0.3, 0.5)  # false discovery rates at which the audit is checked
_FLIPPED = 0.05  # proportion of keys that are corrupted
_FEWEST_MODELS = 3
_SHOWN = 12
_IN_FIVE = "a false discovery rate of 20 %"
LOOSE = 0.5  # false discovery rate of the listed keys if none is flagged at 20 %
_SUSPECT = 0.5  # smallest probability at which a question counts as part of a run
UNREAD = "no answer was read"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class QuestionAudit(Study, Result):
    """Probability of each fault of each question, and the evidence."""

    p_wrong_key: FloatArray  # (questions,) another option is right
    p_several: FloatArray  # (questions,) another option is also right
    p_none: FloatArray  # (questions,) no option is right
    p_unclear: FloatArray  # (questions,) the question or its options are unclear
    p_stretch: FloatArray  # (questions,) the question is in a run of wrong keys
    score: FloatArray  # (questions,) proportion of models that chose the key
    n: IntArray  # (questions,) number of models with an answer
    key: Labels  # (questions,) the key, "" for binary scores
    rival: Labels  # (questions,) the most chosen wrong option, "" if no model chose one
    n_rival: IntArray  # (questions,) number of models that chose the rival
    # (questions,) mean score of models that chose the rival minus that of those that chose the key
    rival_ability: FloatArray
    reason: tuple[str, ...]  # (questions,) evidence of a fault, or why none can be detected
    stated: FloatArray  # (levels,) false discovery rates
    found: FloatArray  # (levels,) proportion of corrupted keys that is flagged
    false: FloatArray  # (levels,) false discovery rate in the check, NaN if nothing is flagged
    lowered: float  # logits by which the probabilities were lowered
    group: Labels  # (questions,) the group of each question
    n_models: int
    labels: Labels  # (questions,)

    _AXES = Axes(
        {"question": "labels"},
        "p_wrong_key",
        "p_flawed",
        "reason",
        "p_several",
        "p_none",
        "p_unclear",
        "p_stretch",
        "score",
        "n",
        "key",
        "rival",
        "n_rival",
        "rival_ability",
        "group",
    )

    @property
    def p_flawed(self) -> FloatArray:
        """Probability of any fault (questions,)."""
        return np.asarray(self.p_wrong_key + self.p_several + self.p_none + self.p_unclear)

    def flagged(self, fdr: float = 0.2, *, fault: Fault = "wrong_key") -> Labels:
        """Return the flagged questions, the most suspicious first.

        Parameters
        ----------
        fdr : float
            Bound on the expected false discovery rate.
        fault : {"wrong_key", "any"}
            Kind of fault to flag: a wrong key, or any fault.

        Returns
        -------
        tuple
            Labels of the flagged questions; empty if none can be flagged at the rate `fdr`.

        Raises
        ------
        OptionError
            If `fdr` is not between 0 and 1, or `fault` is unknown.
        """
        check_fraction("fdr", fdr)
        check_choice("fault", fault, Fault)
        return tuple(self.labels[q] for q in likeliest(self._chance(fault), fdr))

    def _chance(self, fault: Fault) -> FloatArray:
        return self.p_wrong_key if fault == "wrong_key" else self.p_flawed

    def worst(self) -> IntArray:
        """Return the indices of all questions, the most suspicious first."""
        chance = np.nan_to_num(self.p_flawed, nan=-1.0)
        return np.argsort(-chance, kind="stable")

    def stretches(self) -> tuple[tuple[int, int], ...]:
        """Return the first and last index of each run of wrong keys."""
        inside = np.nan_to_num(self.p_stretch) >= _SUSPECT
        found = []
        for name in dict.fromkeys(self.group):
            places = np.array([q for q, own in enumerate(self.group) if own == name])
            edges = np.diff(np.concatenate([[False], inside[places], [False]]).astype(np.int64))
            starts, ends = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
            found += [
                (int(places[a]), int(places[b - 1])) for a, b in zip(starts, ends, strict=True)
            ]
        return tuple(found)

    def tables(self) -> "dict[str, pd.DataFrame]":
        """Return the table of questions, the most suspicious first."""
        return {"questions": self.to_frame().iloc[self.worst()]}

    def findings(self, *, smallest: SmallestEffects = SMALLEST) -> Findings:
        """Return wrong keys, other faults, and the limits of detection."""
        right = self.score == 1.0
        unread = int((self.n == 0).sum())
        items = (
            Finding(statement=self._verdict()),
            Finding(
                key="keys",
                question="Which keys look wrong?",
                rows=self._rows("wrong_key", 0.2 if self.flagged() else LOOSE),
                statement="" if self.flagged() else self._nothing("wrong_key"),
                explanation=(
                    "Each line gives the probability of a wrong key and the models' choices. At "
                    f"most {percent(0.2 if self.flagged() else LOOSE)} of the flagged keys are "
                    "expected to be correct."
                ),
                numbers={"p_wrong_key": self.p_wrong_key},
            ),
            Finding(
                key="any",
                question="Which questions have a fault of any kind?",
                rows=self._rows("any", 0.2),
                statement="" if self.flagged(fault="any") else self._nothing("any"),
                explanation=(
                    "A fault is a wrong key, several right options, no right option, or an "
                    "unclear question. The models' choices hardly distinguish between the "
                    "last three kinds of fault."
                ),
                numbers={"p_flawed": self.p_flawed},
            ),
            Finding(
                key="stretches",
                question="Are there runs of wrong keys?",
                rows=tuple(
                    f"questions {self.labels[a]} to {self.labels[b]}"
                    for a, b in self.stretches()[:_SHOWN]
                ),
                statement="" if self.stretches() else "No run was detected.",
                explanation=(
                    "A run consists of consecutive questions whose keys disagree with the "
                    "models' choices, as if the keys were shifted by one row. Runs can only be "
                    "detected if the questions are in their original order."
                ),
                numbers={"p_stretch": self.p_stretch},
            ),
            Finding(
                key="trial",
                question="How many wrong keys does this audit detect?",
                rows=tuple(self._trial(level) for level in range(len(self.stated))),
                explanation="One in twenty keys of this table was corrupted at random, and the "
                "audit was repeated.",
                numbers={"stated": self.stated, "found": self.found, "false": self.false},
            ),
            Finding(
                key="hidden",
                question="Which faults cannot be detected?",
                statement=(
                    f"No fault can be detected in {count(right.sum())} "
                    f"question{'' if right.sum() == 1 else 's'}, because all models chose the "
                    "key. A misconception shared by the models looks like a wrong key."
                )
                + (f" Number of questions without any answer: {count(unread)}." if unread else ""),
            ),
        )
        head = f"{count(self.n_models)} models, {count(len(self.labels))} questions."
        return exhibit(Findings(items=items, head=head), self, smallest)

    def plot(self, *, ax: "Drawn | None" = None) -> "Drawn":
        """Draw suspicious questions by position: `psychollm.plots.plot_question_audit`."""
        return drawn_by("plot_question_audit")(self, ax=ax)

    def report(
        self,
        path: "str | PathLike[str]",
        *,
        source: str = "",
        smallest: SmallestEffects = SMALLEST,
        texts: Any = None,
        fdr: float = 0.5,
    ) -> "Path":
        """Write an HTML page, with the worst questions first: `psychollm.reports.write_report`.

        Parameters
        ----------
        path : path
            File to write; missing folders are created.
        source : str
            Python code that creates the data, shown with the call.
        smallest : SmallestEffects
            Smallest effects of interest, which this page does not use.
        texts : Series or mapping, optional
            Text of each question, by label.
        fdr : float
            The table lists the questions flagged for any fault at the false discovery rate `fdr`,
            but at least 20 and at most 300.

        Returns
        -------
        Path
            Path of the page.
        """
        write, details = view("reports.study", "write_report"), {"texts": texts, "fdr": fdr}
        written: Path = write(self, path, source=source, smallest=smallest, details=details)
        return written

    def _verdict(self) -> str:
        keys, faults = np.nansum(self.p_wrong_key), np.nansum(self.p_flawed)
        flagged = len(self.flagged())
        named = "1 key is" if flagged == 1 else f"{count(flagged)} keys are"
        return (
            f"{named if flagged else 'No key is'} flagged at {_IN_FIVE}. About "
            f"{count(round(keys))} of {count(len(self.labels))} keys are wrong, and about "
            f"{count(round(faults - keys))} more questions have another fault."
        )

    def _rows(self, fault: Fault, fdr: float) -> tuple[str, ...]:
        places = likeliest(self._chance(fault), fdr)
        chance = self._chance(fault)
        left = len(places) - _SHOWN
        what = "a wrong key" if fault == "wrong_key" else "a fault"
        rows = [
            f"{self.labels[q]}: probability of {what} {number(chance[q])}; {self.reason[q]}"
            for q in places[:_SHOWN]
        ]
        return (*rows, *([further(left, "questions")] * (left > 0)))

    def _nothing(self, fault: Fault) -> str:
        """Return the statement on keys or questions flagged at a false discovery rate of 50 %."""
        places = likeliest(self._chance(fault), LOOSE)
        what = "question" if fault == "any" else "key"
        if not len(places):
            return f"No {what} is flagged at {_IN_FIVE} or of 50 %." + self._remedy(fault)
        n = count(len(places))
        if fault == "any":
            return f"No {what} is flagged at {_IN_FIVE}; {n} are flagged at 50 %."
        found = self.found[np.flatnonzero(np.isclose(self.stated, LOOSE))]
        text = (
            f"No {what} is flagged at {_IN_FIVE}. At a false discovery rate of 50 %, {n} "
            f"{'key is' if n == '1' else 'keys are'} flagged; check flagged keys by hand, "
            "because up to half are expected to be correct."
        )
        if found.size:
            text += (
                f" At this rate, the audit detects {percent(found[0])} of the keys that were "
                "corrupted on purpose."
            )
        return text

    def _remedy(self, fault: Fault) -> str:
        """Return the recommended remedy if the audit detects no corrupted key."""
        if fault == "any" or np.isfinite(self.false).any():
            return ""
        needs = "" if any(self.key) else "the options that the models chose and the key, or "
        return f" To detect wrong keys, the audit needs {needs}more models."

    def _trial(self, level: int) -> str:
        stated = f"at a nominal false discovery rate of {percent(self.stated[level])}"
        if np.isnan(self.false[level]):
            return f"{stated}: no key is flagged"
        return (
            f"{stated}: {percent(self.found[level])} of the corrupted keys are flagged; "
            f"{percent(self.false[level])} of all flagged keys are false positives"
        )


def likeliest(chance: FloatArray, fdr: float) -> IntArray:
    """Return the largest set of most probable cases with false discovery rate at most `fdr`."""
    order = np.argsort(-np.nan_to_num(chance, nan=-1.0), kind="stable")
    order = order[np.isfinite(chance[order])]
    false = np.cumsum(1.0 - chance[order]) / np.arange(1, len(order) + 1)
    within = np.flatnonzero(false <= fdr)
    return np.asarray(order[: within[-1] + 1 if within.size else 0])


def question_audit(
    choices: Any,
    key: Any = None,
    *,
    families: Any = None,
    groups: Any = None,
    n_options: int | None = None,
    rng: RandomState = None,
) -> QuestionAudit:
    """Estimate for each question the probability of a wrong key and of other faults.

    Parameters
    ----------
    choices : DataFrame, array_like or Responses
        Table of the option that each model chose, questions x models; empty cells are missing. A
        `Responses` object has models as rows and questions as columns. Without `key`, the values
        are scores (1 for right, 0 for wrong), models x questions.
    key : Series, mapping or array_like, optional
        Label of the right option of each question.
    families : sequence, Series or mapping, optional
        Family of each model. Models get smaller weights if models agree more often within families
        than between families.
    groups : sequence, Series or mapping, optional
        Group of each question, such as its subject. Groups may differ in difficulty and in the
        proportion of wrong keys. By default, the group is the part of the label before the last
        slash if all labels contain a slash, as in ``"virology/17"``; otherwise, all questions form
        one group.
    n_options : int, optional
        Number of options. Number of options; by default, the number of options that occur, or 10
        with binary scores.
    rng : Generator or int, optional
        Random generator or seed that selects the keys that are corrupted to check the audit.

    Returns
    -------
    QuestionAudit
        The result has a row per question: `p_wrong_key`, `p_flawed`, `reason`. `flagged(fdr=.2)`
        lists the questions to check, at an expected false discovery rate of 20 %.

    Raises
    ------
    LabelError
        If a question has no key, or keys and choices do not use the same labels.
    CodeError
        If there is no key, and answers are not 0 and 1.
    ShapeError
        If there are fewer than three models, or an argument has the wrong shape.

    Notes
    -----
    Keep questions in their original order, because faults often come in runs. Experts' judgements
    of MMLU-Redux fix the proportions of misconception items and of each fault; other benchmarks
    may differ. See :doc:`/question_audit` for measured error rates.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> truth = rng.integers(4, size=300)
    >>> errors = rng.integers(4, size=(300, 12))
    >>> chosen = np.where(rng.random((300, 12)) < .9, truth[:, None], errors)
    >>> key = truth.copy()
    >>> key[[17, 180]] = (truth[[17, 180]] + 1) % 4
    >>> audit = question_audit(chosen, key, rng=1)
    >>> audit.worst()[:2].tolist(), audit.p_wrong_key[[17, 180]].round(2).tolist()
    ([180, 17], [0.23, 0.22])
    >>> audit.reason[17]
    '12 of 12 models choose 2 and none chooses the key 3'
    """
    if n_options is not None:
        n_options = check_count("n_options", n_options, low=2)
    answers = answers_of(choices, key, n_options)
    if len(answers.models) < _FEWEST_MODELS:
        msg = (
            f"choices hold {len(answers.models)} models: an audit needs at least {_FEWEST_MODELS}"
        )
        raise ShapeError(msg)
    member, names = groups_of(groups, answers.questions)
    weights = family_weights(families, answers)
    best, spread = fitted(answers.picked(weights), member)
    # Corrupt only the keys of questions that have answers, and fit again.
    generator = check_generator(rng)
    read = np.flatnonzero((answers.codes >= 0).any(axis=1))
    n_flipped = max(1, round(_FLIPPED * len(read)))
    which = np.sort(generator.choice(read, size=n_flipped, replace=False))
    again, _ = fitted(answers.flipped(which, generator).picked(weights), member, spread=spread)
    truth = best.kinds[:, 1].copy()
    truth[which] = 1.0
    lowered = _overclaimed(again.kinds[:, 1], truth)
    kinds = _lowered(best.kinds, lowered)
    claimed = _lowered(again.kinds, lowered)[:, 1]
    truth = kinds[:, 1].copy()
    truth[which] = 1.0
    found, false = _trial(claimed, truth, which)
    unread = ~(answers.codes >= 0).any(axis=1)
    kinds[unread] = np.nan
    return QuestionAudit(
        p_wrong_key=kinds[:, 1],
        p_several=kinds[:, 2],
        p_none=kinds[:, 3],
        p_unclear=kinds[:, 4],
        p_stretch=np.where(unread, np.nan, best.stretch),
        **_evidence(answers, best.stretch),
        stated=np.array(STATED),
        found=found,
        false=false,
        lowered=lowered,
        group=tuple(names[g] for g in member),
        n_models=len(answers.models),
        labels=answers.questions,
    )


def _overclaimed(claimed: FloatArray, truth: FloatArray) -> float:
    """Return the excess, in logits, of fault probabilities that are 0.1 or more; at least 0."""
    some = claimed >= 0.1
    claims = logit(np.clip(claimed[some], 1e-9, 1.0 - 1e-9))

    def excess(shift: float) -> float:
        return float(expit(claims - shift).sum() - truth[some].sum())

    if not some.any() or excess(0.0) <= 0.0:
        return 0.0
    return float(brentq(excess, 0.0, 30.0)) if excess(30.0) < 0.0 else 30.0


def _lowered(kinds: FloatArray, shift: float) -> FloatArray:
    """Lower the total probability of a fault, keeping the proportions among faults."""
    if shift == 0.0:
        return kinds.copy()
    sound = kinds[:, 0] / (kinds[:, 0] + (1.0 - kinds[:, 0]) * np.exp(-shift))
    lower = kinds * ((1.0 - sound) / np.maximum(1.0 - kinds[:, 0], 1e-300))[:, None]
    lower[:, 0] = sound
    return np.asarray(lower)


def _trial(
    claimed: FloatArray, truth: FloatArray, which: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Return the proportion of corrupted keys flagged at each level, and the false discoveries."""
    found, false = np.zeros(len(STATED)), np.full(len(STATED), np.nan)
    for level, stated in enumerate(STATED):
        places = likeliest(claimed, stated)
        if len(places):
            found[level] = np.isin(which, places).mean()
            false[level] = 1.0 - truth[places].mean()
    return found, false


def _evidence(answers: Answers, stretch: FloatArray) -> dict[str, Any]:
    """Return the choices of each question, and the abilities of the models that made them."""
    right = answers.right
    n = np.isfinite(right).sum(axis=1)
    n_right = np.nansum(right, axis=1)
    score = np.divide(n_right, n, out=np.full(len(n), np.nan), where=n > 0)
    ability = np.nanmean(right, axis=0)
    keys, rivals, n_rival, gaps, reasons = [], [], [], [], []
    for q, row in enumerate(answers.codes):
        wrong = row[(row >= 0) & (row != answers.key[q])]
        # Among equally popular options, the one chosen by abler models is used.
        rival = max(
            set(wrong.tolist()),
            key=lambda o: ((row == o).sum(), ability[row == o].mean()),
            default=-1,
        )
        chose, with_key = row == rival, row == answers.key[q]
        gap = (
            float(ability[chose].mean() - ability[with_key].mean())
            if rival >= 0 and with_key.any()
            else np.nan
        )
        own = answers.options[q] if answers.options else ()
        keys.append(own[answers.key[q]] if own else "")
        rivals.append(own[rival] if own and rival >= 0 else "")
        n_rival.append(int(chose.sum()) if rival >= 0 else 0)
        gaps.append(gap)
        reasons.append(
            _reason(int(n[q]), int(n_right[q]), n_rival[-1], (keys[-1], rivals[-1]), gap)
        )
        if n[q] and stretch[q] >= _SUSPECT:
            reasons[-1] += "; within a run of suspect keys"
    return {
        "score": score,
        "n": n.astype(np.int64),
        "key": tuple(keys),
        "rival": tuple(rivals),
        "n_rival": np.array(n_rival, dtype=np.int64),
        "rival_ability": np.array(gaps),
        "reason": tuple(reasons),
    }


_ABLER = 0.01  # smallest difference of mean scores that is reported


def _reason(n: int, n_right: int, n_rival: int, options: Labels, gap: float) -> str:
    key, rival = options
    if not n:
        return UNREAD
    if n_right == n:
        return "all models choose the key, so no fault can be detected"
    able = f"{'more' if gap > 0 else 'less'} able on average" if abs(gap) >= _ABLER else ""
    if not key:
        wrong = n - n_right
        told = f"{wrong} of {n} models answer{'s' * (wrong == 1)} wrongly"
        return told + (f"; they are {able} than the others" if able else "")
    right = f"{n_right} choose" if n_right > 1 else f"{n_right or 'none'} chooses"
    told = (
        f"{n_rival} of {n} models choose{'s' * (n_rival == 1)} {rival} and {right} the key {key}"
    )
    return told + (f"; the former are {able}" if able else "")
