"""Plans in stages, in which the replies of one stage determine the prompts of the next.

All stages share one store, and the prompts of a stage follow from the stored replies of earlier
stages (`psychollm.instruments.stages`). The run has no other state, so an interrupted run starts
again with the first stage and sends only unanswered requests.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

from psychollm._base.errors import InputError, OptionError
from psychollm.collect.errors import StoreError
from psychollm.collect.export import replied
from psychollm.collect.plan import Plan
from psychollm.collect.preview import Preview, preview
from psychollm.collect.request import LIMITS
from psychollm.collect.roster import Model
from psychollm.collect.store import Store
from psychollm.collect.wire.thinking import room
from psychollm.instruments.arms import arm_of, later_in_arm
from psychollm.instruments.prompt import Prompt
from psychollm.instruments.stages.replied import Replied
from psychollm.instruments.stages.stage import STAGES, Stage

QUESTIONS = "questions"  # the first stage
_MODELS = "SELECT DISTINCT model FROM request WHERE superseded = 0 ORDER BY id"
_PROMPTS = "SELECT prompt_key, prompt FROM request WHERE superseded = 0 GROUP BY prompt_key"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A later stage of a plan.

    Examples
    --------
    >>> Step(name="coding", options={}, judge="m").stage.judged
    True
    """

    name: str  # one of `STAGES`
    options: Mapping[str, Any]
    judge: str | None = None  # name of the judge model, if the stage needs one

    @property
    def stage(self) -> Stage:
        """The stage that makes the prompts."""
        return STAGES[self.name]


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedPlan:
    """A plan with later stages; the prompts of the plan form the first stage.

    Parameters
    ----------
    plan : Plan
        Plan with the models of all stages; models that are judges receive only judge prompts.
    steps : tuple of Step
        Stages after the first, in order of execution.

    Raises
    ------
    OptionError
        If a judge is missing, is not a model of the plan, or is not needed; if every model is a
        judge; or if the plan is adaptive.

    Examples
    --------
    >>> from pathlib import Path
    >>> from psychollm.collect.roster import Endpoint
    >>> from psychollm.instruments import SelfPrediction
    >>> asked = SelfPrediction(questions=[{"question": "2 + 2?", "answer": "4"}])
    >>> here = Endpoint(name="here", url="http://127.0.0.1:8080/v1")
    >>> models = tuple(Model(name=name, endpoint="here", model=name) for name in ("a", "j"))
    >>> plan = Plan(store=Path("run.sqlite"), prompts=asked.prompts(), endpoints={"here": here},
    ...             models=models)
    >>> staged = StagedPlan(plan=plan, steps=(Step(name="grading", options={}, judge="j"),))
    >>> [(name, found.requests) for name, found in staged.previews()]
    [('questions', (2,)), ('grading', (1,))]
    """

    plan: Plan
    steps: tuple[Step, ...] = ()

    def __post_init__(self) -> None:
        names = [model.name for model in self.plan.models]
        for step in self.steps:
            if step.stage.judged != (step.judge is not None):
                fault = "needs a judge" if step.stage.judged else "does not need a judge"
                msg = f"{step.name} {fault} (a model of the plan)"
                raise OptionError(msg)
            if step.judge is not None and step.judge not in names:
                msg = f"{step.name}: judge={step.judge!r} is not one of {', '.join(names)}"
                raise OptionError(msg)
        if not self.respondents:
            msg = (
                "every model is a judge, so that none answers the questions: list a model that "
                "is to do both twice in the plan, under two names"
            )
            raise OptionError(msg)
        if self.plan.adaptive is not None:
            msg = "adaptive: a plan in stages sends all questions; leave it out"
            raise OptionError(msg)

    @property
    def respondents(self) -> tuple[Model, ...]:
        """Models of the plan that are not judges."""
        judges = {step.judge for step in self.steps}
        return tuple(model for model in self.plan.models if model.name not in judges)

    def plans(self) -> Iterator[tuple[str, Plan]]:
        """Yield the name and the plan of each stage.

        The plan of a stage depends on stored replies, so `collect` must run each plan before the
        next plan is requested.

        Raises
        ------
        StoreError
            If the store contains replies that are not part of this plan.
        InputError
            If the store lacks the kind of replies that a stage needs.
        """
        self._check_store()
        for _ in self._foreseen():  # raises errors of later stages before requests are sent
            pass
        yield QUESTIONS, replace(self.plan, models=self.respondents)
        for step in self.steps:
            with Store(self.plan.store, create=False) as store:
                prompts = by_arm(replied(store), partial(step.stage.make, **step.options))
            yield step.name, self._of(step, prompts)

    def previews(self) -> Iterator[tuple[str, Preview]]:
        """Yield the name and a preview of each stage; later previews are upper bounds."""
        yield QUESTIONS, preview(replace(self.plan, models=self.respondents))
        for step, made in self._foreseen():
            plan = replace(self._of(step, made), repeats=self.plan.repeats)
            found = preview(plan, show=0)
            yield step.name, _times(found, 1 if step.judge is None else len(self.respondents))

    def _foreseen(self) -> Iterator[tuple[Step, tuple[Prompt, ...]]]:
        """Yield each later stage with the largest possible set of its prompts for one model."""
        # Arms may share prompts, which each model receives only once.
        first = {(one.key, one.repeat): one for one in self.plan.prompts}
        asked = [self._longer(prompt) for prompt in first.values()]
        for step in self.steps:
            most = by_arm(asked, partial(step.stage.most, options=step.options))
            made = tuple(replace(one, to=None) for one in most)
            if step.judge is None:
                asked += made
            yield step, made

    def _of(self, step: Step, prompts: tuple[Prompt, ...]) -> Plan:
        asked = self.respondents
        if step.judge is not None:
            asked = tuple(model for model in self.plan.models if model.name == step.judge)
        # Each repeat has its own follow-up prompts, so nothing is repeated here.
        return replace(self.plan, prompts=prompts, models=asked, repeats=1)

    def _longer(self, prompt: Prompt) -> Prompt:
        """Return a prompt whose reply limit is the largest limit of all models."""
        lengths = []
        for model in self.respondents:
            own = next((model.parameters[one] for one in LIMITS if one in model.parameters), None)
            lengths.append((own or prompt.max_tokens or 256) + room(model.parameters))
        return replace(prompt, max_tokens=max(lengths))

    def _check_store(self) -> None:
        """Raise an error if stored replies could be mistaken for replies of this plan."""
        if not self.plan.store.is_file():
            return
        keys = {prompt.key for prompt in self.plan.prompts}
        names = {model.name for model in self.plan.models}
        with Store(self.plan.store, create=False) as store:
            held = [row[0] for row in store.rows(_MODELS)]
            what = next((f"model {name!r}" for name in held if name not in names), None)
            for row in store.rows(_PROMPTS):
                first = row[0] not in keys and "after" not in json.loads(row[1]).get("about", {})
                what = what or (f"prompt {row[0]!r}" if first else None)
        if what is not None:
            msg = (
                f"{self.plan.store} holds replies of another plan ({what}): name another store, "
                "or undo the change of the plan"
            )
            raise StoreError(msg)


_T = TypeVar("_T", Prompt, Replied)


def by_arm(
    asked: Sequence[_T], make: Callable[[list[_T]], tuple[Prompt, ...]]
) -> tuple[Prompt, ...]:
    """Return the prompts of a stage by arm, omitting arms without suitable replies."""
    arms: dict[str, list[_T]] = {}
    for one in asked:
        prompt = one if isinstance(one, Prompt) else one.prompt
        arms.setdefault(arm_of(prompt), []).append(one)
    made: list[Prompt] = []
    fault: InputError | None = None
    for arm, own in (arms or {"": []}).items():
        try:
            made += later_in_arm(make(own), arm)
        except InputError as error:  # raised below if no other arm has prompts
            fault = error
    if fault is not None and not made:
        raise fault
    return tuple(made)


def _times(found: Preview, n: int) -> Preview:
    """Return a preview with all numbers multiplied by the number of judged models."""
    return replace(
        found,
        requests=tuple(one * n for one in found.requests),
        tokens=tuple(one * n for one in found.tokens),
        most_cost=tuple(one * n for one in found.most_cost),
        likely_cost=tuple(one * n for one in found.likely_cost),
        seconds=tuple(one * n for one in found.seconds),
    )
