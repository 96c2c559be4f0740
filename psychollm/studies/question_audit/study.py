r"""Which keys are wrong: an audit of questions by what models answered.

For each question the chance of each fault, from the model of `evidence` and the shares of
`mixture`. Nothing is learnt from labels of the table itself. Of a set S of flagged questions

.. math:: \operatorname{FDR}(S) = 1 - \frac{1}{|S|} \sum_{q \in S} p_q                \quad (1)

is the share of false discoveries to be expected, and `flagged` returns the largest set of the most
suspicious questions for which it is no more than asked for.

The audit tries itself: keys of the user's own table are put wrong at random, one in twenty, and
the whole is fitted again. What is found is counted; the other questions stay what they were,
faulty with the chance that the real table gave. Where fewer faults are among the flagged than
claimed, all chances are lowered by as many logits as make the two equal.

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
from psychollm.estimates.findings import Finding, Findings, Study, exhibit
from psychollm.estimates.verdict import SMALLEST, SmallestEffects
from psychollm.studies.question_audit.answers import Answers, answers_of, family_weights, groups_of
from psychollm.studies.question_audit.mixture import fitted

if TYPE_CHECKING:
    from os import PathLike
    from pathlib import Path

    import pandas as pd
    from matplotlib.axes import Axes as Drawn

Fault: TypeAlias = Literal["wrong_key", "any"]
STATED = (0.1, 0.2, 0.3, 0.5)  # shares of false discoveries that the audit tries itself at
_FLIPPED = 0.05  # of all keys, to see what is found
_FEWEST_MODELS = 3
_SHOWN = 12
_IN_FIVE = "one in five of those named may be sound"
_SUSPECT = 0.5  # chance to stand in a stretch from which it is named
UNREAD = "no answer was read"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class QuestionAudit(Study, Result):
    """The chance of each fault of each question, and what speaks for it."""

    p_wrong_key: FloatArray  # (questions,) another option is right
    p_several: FloatArray  # (questions,) another option is right, too
    p_none: FloatArray  # (questions,) no option is right
    p_unclear: FloatArray  # (questions,) the question or its options are unclear
    p_stretch: FloatArray  # (questions,) it stands in a stretch of wrong keys
    score: FloatArray  # (questions,) share of models that chose the key
    n: IntArray  # (questions,) models whose choice was read
    key: Labels  # (questions,) the key, "" where only right and wrong is known
    rival: Labels  # (questions,) the option most chosen beside the key, "" where nobody chose one
    n_rival: IntArray  # (questions,) models that chose it
    rival_ability: FloatArray  # (questions,) score of those who chose it less that of the key's
    reason: tuple[str, ...]  # (questions,) what speaks for a fault, or why none could show
    stated: FloatArray  # (levels,) shares of false discoveries
    found: FloatArray  # (levels,) share of keys put wrong on purpose that is flagged
    false: FloatArray  # (levels,) share of false discoveries there, NaN where nothing is flagged
    lowered: float  # logits by which the chances were lowered after that
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
        """The chance that there is any of the faults (questions,)."""
        return np.asarray(self.p_wrong_key + self.p_several + self.p_none + self.p_unclear)

    def flagged(self, fdr: float = 0.2, *, fault: Fault = "wrong_key") -> Labels:
        """Return the questions to look at, the most suspicious first.

        Parameters
        ----------
        fdr : float
            The share of sound questions to be expected among them.
        fault : {"wrong_key", "any"}
            What counts as a discovery: a wrong key, or any fault.

        Returns
        -------
        tuple
            Labels of questions; empty where nothing can be named with so few false discoveries.

        Raises
        ------
        OptionError
            If `fdr` is not between 0 and 1, or there is no such fault.
        """
        check_fraction("fdr", fdr)
        check_choice("fault", fault, Fault)
        return tuple(self.labels[q] for q in likeliest(self._chance(fault), fdr))

    def _chance(self, fault: Fault) -> FloatArray:
        return self.p_wrong_key if fault == "wrong_key" else self.p_flawed

    def worst(self) -> IntArray:
        """Return the places of all questions, those with the most likely fault first."""
        chance = np.nan_to_num(self.p_flawed, nan=-1.0)
        return np.argsort(-chance, kind="stable")

    def stretches(self) -> tuple[tuple[int, int], ...]:
        """Return first and last place of each stretch whose keys look wrong in a row."""
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
        """Return the table of questions, the worst first."""
        return {"questions": self.to_frame().iloc[self.worst()]}

    def findings(self, *, smallest: SmallestEffects = SMALLEST) -> Findings:
        """Return which keys look wrong, what else is at fault, and what the table cannot show."""
        right = self.score == 1.0
        unread = int((self.n == 0).sum())
        items = (
            Finding(statement=self._verdict()),
            Finding(
                key="keys",
                question="Which keys look wrong?",
                rows=self._rows("wrong_key"),
                statement="" if self.flagged() else self._nothing("wrong_key"),
                explanation="The chance of a wrong key, and who chose what. A share of "
                f"{percent(0.2)} of those flagged is expected to be sound.",
                numbers={"p_wrong_key": self.p_wrong_key},
            ),
            Finding(
                key="any",
                question="Which have any fault?",
                rows=self._rows("any"),
                statement="" if self.flagged(fault="any") else self._nothing("any"),
                explanation="A wrong key, several right options, none, or an unclear question. "
                "What the fault is beside a wrong key can hardly be told from choices.",
                numbers={"p_flawed": self.p_flawed},
            ),
            Finding(
                key="stretches",
                question="Are there stretches of wrong keys?",
                rows=tuple(
                    f"{self.labels[a]} to {self.labels[b]}" for a, b in self.stretches()[:_SHOWN]
                ),
                statement="" if self.stretches() else "None that can be shown.",
                explanation="Questions in a row whose keys fit what models chose as badly as keys "
                "that slipped. It takes a table in its original order.",
                numbers={"p_stretch": self.p_stretch},
            ),
            Finding(
                key="trial",
                question="What would be found?",
                rows=tuple(self._trial(level) for level in range(len(self.stated))),
                explanation="One key in twenty of this table was put wrong at random, and the "
                "audit done again.",
                numbers={"stated": self.stated, "found": self.found, "false": self.false},
            ),
            Finding(
                key="hidden",
                question="What can this table not show?",
                statement=f"All models chose the key of {count(right.sum())} questions: a fault "
                "that they share with the key leaves no trace. A wrong key and a trap into which "
                "all models fall look alike."
                + (f" No answer was read on {count(unread)} questions." if unread else ""),
            ),
        )
        head = f"{count(self.n_models)} models, {count(len(self.labels))} questions."
        return exhibit(Findings(items=items, head=head), self, smallest)

    def plot(self, *, ax: "Drawn | None" = None) -> "Drawn":
        """Draw where the suspicious questions stand: `psychollm.plots.plot_question_audit`."""
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
        """Write one HTML page, worst questions first: `psychollm.reports.write_report`.

        Parameters
        ----------
        path : path
            File to write; its folder is made.
        source : str
            Lines of Python that make the data, shown with the call.
        smallest : SmallestEffects
            Smallest effects of interest; not used by this page.
        texts : Series or mapping, optional
            The text of questions, by label.
        fdr : float
            The table lists what is flagged for any fault with this share of false discoveries, at
            least the twenty most suspicious questions, and 300 at most.

        Returns
        -------
        Path
            Where it is.
        """
        write, details = view("reports.study", "write_report"), {"texts": texts, "fdr": fdr}
        written: Path = write(self, path, source=source, smallest=smallest, details=details)
        return written

    def _verdict(self) -> str:
        keys, faults = np.nansum(self.p_wrong_key), np.nansum(self.p_flawed)
        flagged = len(self.flagged())
        named = count(flagged) if flagged else "None"
        return (
            f"About {count(round(keys))} of {count(len(self.labels))} keys are wrong, and about "
            f"{count(round(faults - keys))} more questions have another fault. {named} can be "
            f"named if at most {_IN_FIVE}."
        )

    def _rows(self, fault: Fault) -> tuple[str, ...]:
        places = likeliest(self._chance(fault), 0.2)
        chance = self._chance(fault)
        left = len(places) - _SHOWN
        rows = [
            f"{self.labels[q]}: {number(chance[q])}; {self.reason[q]}" for q in places[:_SHOWN]
        ]
        return (*rows, *([f"and {count(left)} more"] if left > 0 else []))

    def _nothing(self, fault: Fault) -> str:
        places = likeliest(self._chance(fault), 0.5)
        if not len(places):
            return "None can be named."
        return (
            f"None can be named if at most {_IN_FIVE}; {count(len(places))} can if one in two may."
        )

    def _trial(self, level: int) -> str:
        stated = f"at {percent(self.stated[level])} stated false discoveries"
        if np.isnan(self.false[level]):
            return f"{stated}: nothing is flagged"
        return (
            f"{stated}: {percent(self.found[level])} of the keys put wrong, with "
            f"{percent(self.false[level])} false discoveries"
        )


def likeliest(chance: FloatArray, fdr: float) -> IntArray:
    """Return the largest set of the likeliest whose expected share of false ones is in bounds."""
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
    """Say for each question how likely its key is wrong, or the question at fault otherwise.

    Parameters
    ----------
    choices : DataFrame, array_like or Responses
        The option that each model chose: questions x models (a `Responses` holds them the other
        way round, as always); empty is not read. Without `key`, right and wrong: a `Responses`,
        or whatever makes one, models x questions.
    key : Series, mapping or array_like, optional
        The label of the right option, by question.
    families : sequence, Series or mapping, optional
        The family of each model. Models that agree more often within families than between them
        count for less.
    groups : sequence, Series or mapping, optional
        What each question belongs to, such as its subject: groups differ in difficulty, and in
        how many keys are wrong. By default what stands before the last slash of the labels, if
        all have one, as in ``"virology/17"``; otherwise one group.
    n_options : int, optional
        How many options there are. By default as many as occur; with right and wrong alone ten.
    rng : Generator or int, optional
        Which keys are put wrong to try the audit.

    Returns
    -------
    QuestionAudit
        A row per question: `p_wrong_key`, `p_flawed`, `reason`. `flagged(fdr=.2)` names what to
        look at, with no more false discoveries than stated.

    Raises
    ------
    LabelError
        If a question has no key, or keys and choices do not use the same labels.
    CodeError
        If there is no key, and answers are not 0 and 1.
    ShapeError
        If there are fewer than three models, or labels do not fit the table.

    Notes
    -----
    Questions should be in their original order, as faults often stand next to each other. What
    experts found in MMLU-Redux fixes how common traps are, and how often each fault: a benchmark
    of another kind may differ. See :doc:`/question_audit` for what was measured.

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
    '12 of 12 models choose 2, 0 the key 3'
    """
    if n_options is not None:
        n_options = check_count("n_options", n_options, low=2)
    answers = answers_of(choices, key, n_options)
    if len(answers.models) < _FEWEST_MODELS:
        msg = (
            f"choices hold {len(answers.models)} models: an audit compares what several chose and "
            f"takes {_FEWEST_MODELS} at least"
        )
        raise ShapeError(msg)
    member, names = groups_of(groups, answers.questions)
    weights = family_weights(families, answers)
    best, spread = fitted(answers.picked(weights), member)
    # Put wrong what was read at all, and try.
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
    """Return by how many logits chances of a tenth or more claim too much; 0 if they do not."""
    some = claimed >= 0.1
    claims = logit(np.clip(claimed[some], 1e-9, 1.0 - 1e-9))

    def excess(shift: float) -> float:
        return float(expit(claims - shift).sum() - truth[some].sum())

    if not some.any() or excess(0.0) <= 0.0:
        return 0.0
    return float(brentq(excess, 0.0, 30.0)) if excess(30.0) < 0.0 else 30.0


def _lowered(kinds: FloatArray, shift: float) -> FloatArray:
    """Lower the chance of any fault, keeping their proportions."""
    if shift == 0.0:
        return kinds.copy()
    sound = kinds[:, 0] / (kinds[:, 0] + (1.0 - kinds[:, 0]) * np.exp(-shift))
    lower = kinds * ((1.0 - sound) / np.maximum(1.0 - kinds[:, 0], 1e-300))[:, None]
    lower[:, 0] = sound
    return np.asarray(lower)


def _trial(
    claimed: FloatArray, truth: FloatArray, which: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Return what share of keys put wrong is flagged at each level, and how many are false."""
    found, false = np.zeros(len(STATED)), np.full(len(STATED), np.nan)
    for level, stated in enumerate(STATED):
        places = likeliest(claimed, stated)
        if len(places):
            found[level] = np.isin(which, places).mean()
            false[level] = 1.0 - truth[places].mean()
    return found, false


def _evidence(answers: Answers, stretch: FloatArray) -> dict[str, Any]:
    """Return who chose what, and how able they are."""
    right = answers.right
    n = np.isfinite(right).sum(axis=1)
    n_right = np.nansum(right, axis=1)
    score = np.divide(n_right, n, out=np.full(len(n), np.nan), where=n > 0)
    ability = np.nanmean(right, axis=0)
    keys, rivals, n_rival, gaps, reasons = [], [], [], [], []
    for q, row in enumerate(answers.codes):
        wrong = row[(row >= 0) & (row != answers.key[q])]
        # Of equally popular ones, that of the abler models.
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
            reasons[-1] += "; it stands in a stretch of keys that fit badly"
    return {
        "score": score,
        "n": n.astype(np.int64),
        "key": tuple(keys),
        "rival": tuple(rivals),
        "n_rival": np.array(n_rival, dtype=np.int64),
        "rival_ability": np.array(gaps),
        "reason": tuple(reasons),
    }


_ABLER = 0.01  # difference of scores from which models are called abler


def _reason(n: int, n_right: int, n_rival: int, options: Labels, gap: float) -> str:
    key, rival = options
    if not n:
        return UNREAD
    if n_right == n:
        return "all models choose the key: a fault could not show"
    able = ""
    if abs(gap) >= _ABLER:
        able = f", and are {'abler' if gap > 0 else 'weaker'}"
    if not key:
        return f"{n - n_right} of {n} models fail{able}"
    return f"{n_rival} of {n} models choose {rival}{able}, {n_right} the key {key}"
