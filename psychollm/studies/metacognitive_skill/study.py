r"""Monitoring behaviour in reasoning traces, and its association with right answers.

A model may be capable of a behaviour but not show it when needed. Let C be the event that a trace
shows a behaviour, and R the event that the answer of the trace is right. Equation (1) defines the
deployment gap of the behaviour:

.. math:: P(C \mid R) - P(C).                                                            \quad (1)

The gap is positive for behaviours that are associated with right answers and often absent. An
association with right answers does not show that the behaviour would help. An experiment can show
whether a behaviour helps: the same questions are asked with and without a prompt that directs the
model to the behaviour. The function `scaffolding` reports how often such a prompt harms and helps.

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
    sentence_list,
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
    """Profiles of monitoring behaviour in reasoning traces.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"model": "m", "item": range(8), "category": "evaluation",
    ...                       "code": [2, 0] * 4, "correct": [1, 0] * 4})
    >>> study = metacognitive_skill(table, bootstrap=50, rng=0)
    >>> study.prevalence["evaluation"].value, study.deployment["evaluation"].gap.value
    (array([0.5]), array([0.5]))
    """

    prevalence: Mapping[Hashable, Estimate]  # by category: proportion of traces with the behaviour
    density: Mapping[Hashable, Estimate]  # by category: spans per 1,000 tokens
    total_density: Estimate  # spans of all categories per 1,000 tokens
    diversity: Estimate  # entropy of the categories of spans, in bits
    length: Estimate  # tokens per trace
    repetition: Estimate  # proportion of checks that repeat an earlier one
    accuracy: Estimate
    deployment: Mapping[Hashable, Deployment]  # association with right answers, by category
    structure: StructureContrast | None  # None if structures of problems are unknown
    scaffolding: Scaffolding | None  # None if there is no second arm
    prompting: Mapping[Hashable, Estimate] | None  # prevalence when prompted minus spontaneous
    agreement: CoderAgreement | None  # None if there is only one coder
    categories: Labels
    labels: Labels  # (models,)
    baseline: Hashable  # arm of all estimates except the comparison of arms
    prompted: Hashable | None
    coder: Hashable
    threshold: int  # smallest code at which a behaviour counts as shown
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
        """Return the verdict, profiles, arms, structures and the agreement of coders."""
        profiles = Finding(
            key="profiles",
            question="Which behaviours do reasoning traces show?",
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
                    question=f"Diversity on {second} minus {first} problems, in bits:",
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
    link = arms.by_accuracy
    over = (
        ()
        if link is None or not np.isfinite(link.value)
        else (
            f"accuracy without the prompt and effect of the prompt, on different problems: "
            f"{link.text()}",
        )
    )
    return Finding(
        key="prompting",
        question=f"Effects of prompting ({study.prompted} minus {study.baseline}):",
        rows=tuple(
            f"{label}: the prompt changes accuracy by {arms.effect.text(row, signed=True)}, "
            f"makes a proportion of {arms.harmed.text(row)} of right answers wrong and corrects "
            f"{arms.helped.text(row)} of wrong answers"
            for row, label in enumerate(study.labels)
        )
        + over,
        numbers={"effect": arms.effect, "harmed": arms.harmed, "helped": arms.helped},
    )


def _agreement(agreement: CoderAgreement) -> Finding:
    codes = {str(name): one.krippendorff_alpha for name, one in agreement.codes.items()}
    return Finding(
        key="agreement",
        question=(
            f"Agreement of the coders {sentence_list(list(map(str, agreement.coders)))} "
            "(Krippendorff's alpha, ordinal):"
        ),
        rows=tuple(f"{in_words(name)}: {alpha.text()}" for name, alpha in codes.items()),
        numbers=codes,
    )


def _verdict(study: MetacognitiveSkill, smallest: SmallestEffects) -> Finding:
    """Return which behaviours are associated with right answers."""
    shown: dict[Outcome, dict[tuple[str, ...], list[str]]] = {}
    for name in study.categories:
        judged = verdicts(study.deployment[name].gap, smallest=smallest.share)
        for one in Outcome:
            if who := judged.which(one):
                shown.setdefault(one, {}).setdefault(tuple(who), []).append(in_words(name))
    n = len(study.labels)
    parts = [
        f"{words} "
        + ", and for ".join(
            f"{sentence_list(names, most=len(names))} "
            f"in {every(n, 'model') if len(who) == n > 1 else sentence_list(who, most=len(who))}"
            for who, names in shown[one].items()
        )
        for one, words in (
            (Outcome.ABOVE, "the association with right answers is positive for"),
            (Outcome.BELOW, "the association with right answers is negative for"),
            (
                Outcome.SMALL,
                f"the association with right answers is negligible (±{smallest.share:g}) for",
            ),
            (Outcome.OPEN, "the association with right answers is inconclusive for"),
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
    highest, lowest = (study.prevalence[names[k]].text(row) for k in (most, least))
    if most == least:
        parts = [f"shows {in_words(names[most])} in a proportion of {highest} of traces"]
    elif shares[most] == shares[least]:
        parts = [f"shows all behaviours equally often, in a proportion of {highest} of traces"]
    else:
        parts = [
            f"shows {in_words(names[most])} most often (proportion of traces {highest}) and "
            f"{in_words(names[least])} least often ({lowest})"
        ]
    density, bits, repeats = study.total_density, study.diversity, study.repetition
    if density.defined[row]:
        parts.append(f"shows {density.text(row)} behaviours per 1,000 tokens")
    if bits.defined[row]:
        parts.append(f"has a diversity of {bits.text(row)} bits")
    if repeats.defined[row]:
        parts.append(f"proportion of checks that repeat an earlier one: {repeats.text(row)}")
    return "; ".join(parts)


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
    """Profile monitoring behaviour in coded reasoning traces.

    Parameters
    ----------
    traces : DataFrame
        One row per trace and category: model, item, category and code (0, 1, 2; NaN without a
        code); optionally arm, run, coder, structure, spans, tokens, correct, verified, repeated.
        `CodingScores.to_frame` returns such a table.
    coder : hashable, optional
        Coder whose codes are analysed; needed if there are several.
    baseline, prompted : hashable, optional
        Names of the arm without directions and of the arm with directions. `baseline` is needed if
        there are several arms.
    structures : (hashable, hashable), optional
        Names of the well-structured and the ill-structured kind of problem, which are contrasted.
    threshold : {1, 2}
        Lowest code for which a behaviour counts as shown.
    people : DataFrame or path, optional
        Codes and correct answers of people, with the columns of `traces`, as returned by
        `read_people`.
    bootstrap : int or Bootstrap
        Number of resamples of questions; resamples are the same for all models, so that
        differences are paired.
    level : float
        Coverage of the intervals, between 0 and 1.
    rng : Generator, int or None
        Random generator or seed.

    Returns
    -------
    MetacognitiveSkill
        Undefined estimates are NaN with a reason; parts without input are None. Proportions have
        Wilson intervals at the effective sample size, which accounts for several traces of one
        question. Intervals of deployment gaps combine three Wilson intervals; densities and
        diversities have bootstrap percentile intervals.

    Raises
    ------
    LabelError
        If a column, an arm, a coder or a structure does not exist, or a trace is coded twice.
    CodeError
        If a code is not 0, 1 or 2.
    OptionError
        If a coder or an arm is required but not named, or an option is out of range.

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
    """Return traces of models or people, with a column for whether a behaviour was shown."""
    frame = as_frame(table)
    if "code" not in frame.columns:  # people may have given answers only, without traces
        return frame
    frame = coded(frame.rename(columns={PERSON: "model"}), coder)
    shown = (frame["code"] >= threshold).astype(np.float64)
    return frame.assign(shown=shown.where(frame["code"].notna() & (frame["arm"] == baseline)))


def _beside(traces: pd.DataFrame, people: pd.DataFrame, level: float) -> BesidePeople:
    """Compare the prevalence and accuracy of models with the prevalence and accuracy of people."""
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
            msg = f"arm {one!r} is not in the traces: choose from {listed(known)}"
            raise LabelError(msg)
    if baseline is None:
        if len(known) > 1:
            msg = f"traces have the arms {listed(known)}: name baseline="
            raise OptionError(msg)
        return known[0], None
    others = [one for one in known if one != baseline]
    if prompted is None and len(others) > 1:
        msg = f"traces have several arms besides the baseline ({listed(others)}): name prompted="
        raise OptionError(msg)
    if prompted is None:
        return baseline, others[0] if others else None
    if prompted == baseline:
        msg = f"baseline and prompted are both {baseline!r}: name two arms"
        raise OptionError(msg)
    return baseline, prompted


def _register(panel: Panel, traces: Traces, keep: BoolArray, threshold: int) -> None:
    """Add the sums of the baseline arm to the panel."""
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
