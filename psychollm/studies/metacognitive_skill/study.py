r"""`metacognitive_skill`: what models do about their own thinking, and whether they do it in time.

A behaviour may be in a model's repertoire and yet not be there when it is needed. With C a
behaviour that a trace shows and R a right answer,

.. math:: P(C \mid R) - P(C)                                                             \quad (1)

is above zero for what goes along with success and is shown too seldom elsewhere: it says where a
behaviour is missing, not that it would help. That takes an experiment: the same questions with and
without a prompt that directs the model to it (`scaffolding`), with harm counted beside help.

References
----------
Kargupta, P., et al. (2025). Cognitive foundations for reasoning and their manifestation in LLMs.
arXiv:2511.16660.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.checks import check_fraction
from psychollm._base.errors import LabelError, OptionError
from psychollm._base.result import Result
from psychollm._base.types import BoolArray, FloatArray, RandomState
from psychollm.data.labels import Labels, listed
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.findings import (
    Finding,
    Findings,
    Study,
    estimate_rows,
    exhibit,
    in_words,
)
from psychollm.estimates.repeated_share import repeated_share
from psychollm.estimates.resampling import Bootstrap, Resampling
from psychollm.estimates.verdict import SMALLEST, Outcome, SmallestEffects, every, verdicts
from psychollm.studies.metacognitive_skill.arms import (
    CoderAgreement,
    Scaffolding,
    coder_agreement,
    prompting,
    scaffolding,
)
from psychollm.studies.metacognitive_skill.deployment import (
    Deployment,
    deployment,
    register_deployment,
)
from psychollm.studies.metacognitive_skill.structure import (
    StructureContrast,
    entropy_of,
    register_structures,
    structure_contrast,
)
from psychollm.studies.metacognitive_skill.traces import (
    Panel,
    Traces,
    as_traces,
    coded,
    fixed,
)
from psychollm.studies.people.study import BesidePeople
from psychollm.studies.people.table import PERSON, Measure, as_frame, beside

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MetacognitiveSkill(Study, Result):
    """What models do about their own thinking.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"model": "m", "item": range(8), "category": "evaluation",
    ...                       "code": [2, 0] * 4, "correct": [1, 0] * 4})
    >>> study = metacognitive_skill(table, bootstrap=50, rng=0)
    >>> study.prevalence["evaluation"].value, study.deployment["evaluation"].gap.value
    (array([0.5]), array([0.5]))
    """

    prevalence: Mapping[Hashable, Estimate]  # by category: share of traces that show it
    density: Mapping[Hashable, Estimate]  # by category: spans per 1,000 tokens
    total_density: Estimate  # spans of all categories per 1,000 tokens
    diversity: Estimate  # entropy of the categories of spans, in bits
    length: Estimate  # tokens per trace
    repetition: Estimate  # share of checks that repeat an earlier one
    accuracy: Estimate
    deployment: Mapping[Hashable, Deployment]  # by category
    structure: StructureContrast | None  # None where nothing is said of problems
    scaffolding: Scaffolding | None  # None without a second arm
    prompting: Mapping[Hashable, Estimate] | None  # prevalence when prompted minus spontaneous
    agreement: CoderAgreement | None  # None for a single coder
    categories: Labels
    labels: Labels  # (models,)
    baseline: Hashable  # the arm that all but the comparison of arms is about
    prompted: Hashable | None
    coder: Hashable
    threshold: int  # code from which a behaviour counts as shown
    level: float
    people: BesidePeople | None = None

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return the tables of the study, by name."""
        tables = {"behaviours": self.to_frame()}
        if self.agreement is not None:
            tables["agreement"] = self.agreement.to_frame()
        if self.scaffolding is not None:
            for name in ("effect", "helped", "harmed"):
                tables[f"directions_{name}"] = getattr(self.scaffolding, name).to_frame()
        return tables

    def findings(self, *, smallest: SmallestEffects = SMALLEST) -> Findings:
        """Return the verdict, then profiles, arms, structures and the agreement of coders."""
        profiles = Finding(
            key="profiles",
            question="What do traces show?",
            rows=tuple(f"{label}: {_profile(self, row)}" for row, label in enumerate(self.labels)),
            numbers={str(name): self.prevalence[name] for name in self.categories},
        )
        items = [_verdict(self, smallest), profiles]
        if self.scaffolding is not None:
            items.append(_prompting(self, self.scaffolding))
        if self.structure is not None and self.structure.widening is not None:
            first, second = self.structure.pair or ("", "")
            items.append(
                Finding(
                    key="structure",
                    question=f"Diversity on {second} minus {first}, in bits:",
                    rows=estimate_rows(self.structure.widening),
                    numbers={"widening": self.structure.widening},
                )
            )
        if self.agreement is not None:
            items.append(_agreement(self.agreement))
        return exhibit(Findings(items=tuple(items)), self, smallest)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per model and category."""
        import pandas as pd

        rows = []
        for name in self.categories:
            columns: dict[str, Estimate] = {
                "prevalence": self.prevalence[name],
                "density": self.density[name],
                "given_correct": self.deployment[name].given_correct,
                "given_wrong": self.deployment[name].given_wrong,
                "gap": self.deployment[name].gap,
            }
            if self.prompting is not None:
                columns["prompted_minus_spontaneous"] = self.prompting[name]
            for place, label in enumerate(self.labels):
                row: dict[str, Any] = {"model": label, "category": name}
                for column, estimate in columns.items():
                    row[column] = estimate.value[place]
                    row[f"{column}_lower"], row[f"{column}_upper"] = estimate.interval[place]
                row["n"] = int(self.prevalence[name].n[place])
                rows.append(row)
        return pd.DataFrame(rows)


def _prompting(study: MetacognitiveSkill, arms: Scaffolding) -> Finding:
    return Finding(
        key="prompting",
        question=f"Prompting ({study.prompted} against {study.baseline}):",
        rows=tuple(
            f"{label}: accuracy {arms.effect.text(row, signed=True)}; harms "
            f"{arms.harmed.text(row)} of right answers, helps {arms.helped.text(row)} of wrong "
            "ones"
            for row, label in enumerate(study.labels)
        ),
        numbers={"effect": arms.effect, "harmed": arms.harmed, "helped": arms.helped},
    )


def _agreement(agreement: CoderAgreement) -> Finding:
    codes = {str(name): one.krippendorff_alpha for name, one in agreement.codes.items()}
    return Finding(
        key="agreement",
        question=(
            f"Agreement of {', '.join(map(str, agreement.coders))} "
            "(Krippendorff's alpha, ordinal):"
        ),
        rows=tuple(f"{in_words(name)}: {alpha.text()}" for name, alpha in codes.items()),
        numbers=codes,
    )


def _verdict(study: MetacognitiveSkill, smallest: SmallestEffects) -> Finding:
    """Say which behaviours go along with right answers."""
    shown: dict[Outcome, dict[tuple[str, ...], list[str]]] = {}
    for name in study.categories:
        judged = verdicts(study.deployment[name].gap, smallest=smallest.share)
        for one in Outcome:
            if who := judged.which(one):
                shown.setdefault(one, {}).setdefault(tuple(who), []).append(in_words(name))
    n = len(study.labels)
    parts = [
        f"{words}: "
        + "; ".join(
            f"{', '.join(names)} ({every(n, 'model') if len(who) == n > 1 else ', '.join(who)})"
            for who, names in shown[one].items()
        )
        for one, words in (
            (Outcome.ABOVE, "shown more often with right answers"),
            (Outcome.BELOW, "shown less often with right answers"),
            (Outcome.SMALL, f"alike with right answers, to within {smallest.share:g}"),
            (Outcome.OPEN, "too few traces to say whether these go with right answers"),
        )
        if one in shown
    ]
    text = ". ".join(f"{part[0].upper()}{part[1:]}" for part in parts)
    gaps = {str(name): study.deployment[name].gap for name in study.categories}
    return Finding(statement=f"{text}.", numbers=gaps)


def _profile(study: MetacognitiveSkill, row: int) -> str:
    shares = np.array([study.prevalence[name].value[row] for name in study.categories])
    if not np.isfinite(shares).any():
        return "no trace was coded"
    most, least = int(np.nanargmax(shares)), int(np.nanargmin(shares))
    names = study.categories
    return (
        f"shows {in_words(names[most])} most often "
        f"({study.prevalence[names[most]].text(row)} of traces) "
        f"and {in_words(names[least])} least ({study.prevalence[names[least]].text(row)}); "
        f"{study.total_density.text(row)} behaviours per 1,000 tokens, diversity "
        f"{study.diversity.text(row)} bits; repeats {study.repetition.text(row)} of its checks"
    )


def metacognitive_skill(
    traces: pd.DataFrame,
    *,
    coder: Hashable | None = None,
    baseline: Hashable | None = None,
    prompted: Hashable | None = None,
    structures: tuple[Hashable, Hashable] | None = None,
    threshold: int = 1,
    people: Any = None,
    bootstrap: Bootstrap | int = 2000,
    level: float = 0.95,
    rng: RandomState = None,
) -> MetacognitiveSkill:
    """Profile what models do about their own thinking.

    Parameters
    ----------
    traces : DataFrame
        One row per trace and category: model, item, category and code (0, 1, 2; NaN without);
        and, where known, arm, run, coder, structure, spans, tokens, correct, verified, repeated.
        `CodingScores.to_frame` makes it.
    coder : hashable, optional
        Whose codes count; the others are compared with it. Needed if there are several.
    baseline, prompted : hashable, optional
        The arm in which models were left to themselves, and the one in which they were directed.
        The first is needed if there are several arms.
    structures : (hashable, hashable), optional
        The well-structured and the ill-structured kind of problems, to be contrasted.
    threshold : {1, 2}
        Code from which a behaviour counts as shown.
    people : DataFrame or path, optional
        What people answered, as `read_people` returns it: their codes by category, and correct
        answers, with the same columns as `traces`.
    bootstrap : int or Bootstrap
        Number of resamples of questions, the same for all models: differences are paired.
    level : float
        Coverage of the intervals, between 0 and 1.
    rng : Generator, int or None
        Random generator or seed.

    Returns
    -------
    MetacognitiveSkill
        What is not known is NaN with a reason, or None where nothing of the kind was passed.
        Shares have Wilson's interval at the effective size, so that several traces of one
        question do not count as many questions; gaps join three such intervals; densities and
        diversities have percentiles.

    Raises
    ------
    LabelError
        If a column, an arm, a coder or a structure does not exist, or a trace is coded twice.
    CodeError
        If a code is none of 0, 1, 2.
    OptionError
        If a coder or an arm has to be named, or an option lies outside its range.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"model": "m", "item": range(8), "category": "evaluation",
    ...                       "code": [2, 0] * 4, "spans": [2, 0] * 4, "tokens": 100})
    >>> study = metacognitive_skill(table, bootstrap=50, rng=0)
    >>> study.density["evaluation"].value, study.accuracy.flags[0].name
    (array([10.]), 'TOO_FEW')
    """
    check_fraction("level", level)
    if threshold not in (1, 2):
        msg = f"threshold={threshold!r} must be 1 or 2"
        raise OptionError(msg)
    options = Resampling.of(bootstrap, level, rng)
    resampling = fixed(options)
    known = as_traces(traces, coder=coder)
    first, second = _arms(known, baseline, prompted)
    keep = known.where("arm", first)
    panel = Panel(known.models, resampling)
    _register(panel, known, keep, threshold)
    register_deployment(panel, known, keep, threshold)
    register_structures(panel, known, keep, threshold)
    categories = known.categories
    return MetacognitiveSkill(
        prevalence={
            name: panel.share(f"prevalence of {name}", f"shown {name}", f"n {name}")
            for name in categories
        },
        density={
            name: panel.ratio(f"density of {name}", f"placed {name}", f"tokens {name}", scale=1e3)
            for name in categories
        },
        total_density=panel.ratio("density", "placed", "tokens of spans", scale=1e3),
        diversity=panel.estimate(
            "diversity",
            lambda of: entropy_of(categories, "spans", of),
            panel.size("spans"),
        ),
        length=panel.ratio("tokens per trace", "tokens", "n tokens"),
        repetition=_repetition(panel),
        accuracy=panel.share("accuracy", "correct", "n correct"),
        deployment={name: deployment(panel, name) for name in categories},
        structure=structure_contrast(panel, known, structures),
        scaffolding=None if second is None else scaffolding(known, first, second, level=level),
        prompting=None
        if second is None
        else prompting(known, first, second, threshold=threshold, level=level),
        agreement=coder_agreement(traces, resampling, threshold=threshold),
        categories=categories,
        labels=known.models,
        baseline=first,
        prompted=second,
        coder=coder,
        threshold=threshold,
        level=level,
        people=None
        if people is None
        else _beside(
            _shown(traces, coder, first, threshold),
            _shown(people, coder, first, threshold),
            level,
        ),
    )


def _shown(table: Any, coder: Hashable | None, baseline: Hashable, threshold: int) -> pd.DataFrame:
    """Return traces, of people too, with a column that says whether a behaviour is shown."""
    frame = as_frame(table)
    if "code" not in frame.columns:  # answers of people alone
        return frame
    frame = coded(frame.rename(columns={PERSON: "model"}), coder)
    shown = (frame["code"] >= threshold).astype(np.float64)
    return frame.assign(shown=shown.where(frame["code"].notna() & (frame["arm"] == baseline)))


def _beside(traces: pd.DataFrame, people: pd.DataFrame, level: float) -> BesidePeople:
    """Compare with people how often behaviours are shown, and how often answers are right."""
    measures = (
        Measure(name="shows", value="shown", by="category"),
        Measure(name="accuracy", value="correct", by="arm"),
    )
    return beside(traces, people.rename(columns={"model": PERSON}), measures, level=level)


def _arms(
    traces: Traces, baseline: Hashable | None, prompted: Hashable | None
) -> tuple[Hashable, Hashable | None]:
    known = list(dict.fromkeys(traces.arm))
    for one in (baseline, prompted):
        if one is not None and one not in known:
            msg = f"{one!r} is no arm of these traces: there are {listed(known)}"
            raise LabelError(msg)
    if baseline is None:
        if len(known) > 1:
            msg = f"traces have the arms {listed(known)}: name baseline="
            raise OptionError(msg)
        return known[0], None
    others = [one for one in known if one != baseline]
    if prompted is None and len(others) > 1:
        msg = f"besides the baseline there are the arms {listed(others)}: name prompted="
        raise OptionError(msg)
    if prompted is None:
        return baseline, others[0] if others else None
    if prompted == baseline:
        msg = f"baseline and prompted are both {baseline!r}: name two arms"
        raise OptionError(msg)
    return baseline, prompted


def _register(panel: Panel, traces: Traces, keep: BoolArray, threshold: int) -> None:
    """Put the sums of the baseline arm into the panel."""
    tokens, correct = traces.numbers["tokens"], traces.numbers["correct"]
    ones = np.ones(tokens.size)

    def add(name: str, values: FloatArray, where: BoolArray) -> None:
        panel.add(name, traces.sums(np.nan_to_num(values), keep & where))

    everywhere = np.ones(tokens.size, dtype=np.bool_)
    counted = np.isfinite(tokens)
    for name in traces.categories:
        codes, spans = traces.codes[name], traces.spans[name]
        coded = np.isfinite(codes)
        add(f"shown {name}", (codes >= threshold).astype(np.float64), coded)
        add(f"n {name}", ones, coded)
        add(f"spans {name}", spans, everywhere)
        add(f"placed {name}", spans, counted)
        add(f"tokens {name}", tokens, np.isfinite(spans))
    all_spans = np.sum([traces.spans[name] for name in traces.categories], axis=0)
    add("spans", all_spans, everywhere)
    add("placed", all_spans, counted)
    add("tokens of spans", tokens, np.isfinite(all_spans))
    add("tokens", tokens, everywhere)
    add("n tokens", ones, counted)
    add("correct", correct, everywhere)
    add("n correct", ones, np.isfinite(correct))
    add("verified", traces.numbers["verified"], everywhere)
    add("repeated", traces.numbers["repeated"], everywhere)


def _repetition(panel: Panel) -> Estimate:
    counts = {
        label: (panel.columns["repeated"][row], panel.columns["verified"][row])
        for row, label in enumerate(panel.models)
    }
    return repeated_share("repeated checks", counts, level=panel.resampling.level)
