"""``psychollm run``: run all stages of a study from its prompts to its report."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from psychollm._base.checks import check_count, check_fraction
from psychollm._base.errors import OptionError
from psychollm.cli.options import Command, option
from psychollm.cli.two_tables import ANALYSIS, OUTPUT

if TYPE_CHECKING:
    from psychollm.cli.carry_out import Found
    from psychollm.collect.client import Collection
    from psychollm.collect.staged import StagedPlan, Step
    from psychollm.instruments.prompt import Prompt

StudyName: TypeAlias = Literal[
    "shared_confidence",
    "inference_boundary",
    "self_efficacy",
    "semantic_calibration",
    "metacognitive_skill",
]
DESCRIPTION = """\
Run a study from the first prompt to the report: write the prompts, send them, write the prompts of
the next stage from the replies, and so on; then analyse and report. After an interruption the same
command resumes: no answered prompt is sent again, and the report is the same.

The plan is that of 'psychollm collect', with a table for each part of the study in place of
prompts:

  [study.self_prediction]         # options of 'psychollm instrument self-prediction'
  questions = "questions.csv"

  [study.grading]                 # options of 'psychollm stage grading', and the judge
  judge = "GPT-5"                 # a model of the plan; it only judges

  study                  first stage                        later stages
  shared_confidence      self_prediction                    grading
  inference_boundary     rule_world
  self_efficacy          self_efficacy                      feedback, coding
  semantic_calibration   semantic_sampling                  grading
  metacognitive_skill    abstention, revision, scaffold     revision, scaffold, grading, coding

A stage runs if its table exists, even if empty. Revision and scaffold belong to the first stage if
they name questions; otherwise they continue from the answers of another instrument.

An instrument with several conditions has one table per arm, [[study.semantic_sampling]], with a
name and, if not all models take part, the models:

  arm = "base"
  models = { qwen = "qwen base" } # name in the study = name in the plan; or ["qwen base"]

A further table defines the comparisons of the analysis:

  [study.analysis]
  thinking = [["R1", "V3"]]       # inference_boundary: models with and without reasoning
  baseline = "base"               # arm that others are compared with; without arms,
                                  # for semantic_calibration, the model
"""
EPILOG = """\
examples:
  psychollm run shared_confidence plan.toml --dry-run
  psychollm run shared_confidence plan.toml --simulated
  psychollm run metacognitive_skill plan.toml --out results

exit codes: 0 every prompt is answered and the report written; 1 replies are missing (the summary
lists them); 2 the plan or the store cannot be used; 130 interrupted.
"""
MISSING = 1


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of a study: its instruments and its later stages."""

    first: tuple[str, ...]  # instruments
    later: tuple[str, ...] = ()  # stages that models answer, followed by stages for judges


STUDY_PARTS: dict[StudyName, Parts] = {
    "shared_confidence": Parts(("self_prediction",), ("grading",)),
    "inference_boundary": Parts(("rule_world",)),
    "self_efficacy": Parts(("self_efficacy",), ("feedback", "coding")),
    "semantic_calibration": Parts(("semantic_sampling",), ("grading",)),
    "metacognitive_skill": Parts(
        ("abstention", "revision", "scaffold"), ("revision", "scaffold", "grading", "coding")
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """Analysis settings in a plan that name the baseline arm.

    Without arms, only `semantic_calibration` has a baseline, and this baseline is a model.
    """

    baseline: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Boundary(Baseline):
    """Analysis settings of `inference_boundary` in a plan."""

    thinking: tuple[tuple[str, str], ...] = ()


ANALYSES: dict[StudyName, type] = {"inference_boundary": Boundary}


@dataclass(frozen=True, kw_only=True)
class Run(Command):
    """Command `psychollm run`."""

    NAME = "run"
    HELP = "run all stages of a study, then write its report"
    DESCRIPTION = DESCRIPTION
    EPILOG = EPILOG

    study: StudyName = option("which", "STUDY", positional=True)
    plan: Path = option("models, endpoints and prompts", "PLAN.toml", positional=True)
    dry_run: bool = option(
        "print the stages, their requests and cost; send nothing", default=False
    )
    budget: float | None = option("a budget that replaces the plan's", "SUM", default=None)
    simulated: bool = option(
        "replace the models of the plan by simulated ones, without API key or cost, and compare "
        "the results with the true parameters",
        default=False,
    )
    local: bool = option(
        "start SmolLM2-135M-Instruct on this machine, use it in place of the endpoints of the "
        "plan, and stop it",
        default=False,
    )
    null: int = option("number of replicates of each null", default=499, group=ANALYSIS)
    bootstrap: int = option("number of bootstrap resamples", "B", default=2000, group=ANALYSIS)
    level: float = option("coverage of intervals", "L", default=0.95, group=ANALYSIS)
    seed: int = option("random seed", "S", default=1, group=ANALYSIS)
    jobs: int = option("number of threads; -1 for all processors", "J", default=1, group=ANALYSIS)
    out: Path = option(
        "folder of prompts and results (default: psychollm-report)",
        "DIR",
        default=Path("psychollm-report"),
        group=OUTPUT,
    )
    report: bool = option(
        "write a page with figures as well as tables", default=True, group=OUTPUT
    )
    progress: bool = option(
        "report progress every half minute also without a terminal",
        default=False,
        group=OUTPUT,
    )
    json: bool = option("print only the results as JSON", default=False, group=OUTPUT)
    quiet: bool = option("print no progress and no summary", default=False, group=OUTPUT)

    def __post_init__(self) -> None:
        if self.simulated and self.local:
            msg = "--simulated and --local cannot be combined"
            raise OptionError(msg)

    def run(self) -> int:
        """Run the stages and then the study."""
        from psychollm.cli.carry_out import prepared
        from psychollm.cli.collect import exit_code
        from psychollm.cli.standing_in import StandIns, held_against

        # Check the options of the study first; otherwise the study might reject an option after
        # requests have been paid for.
        check_count("--null", self.null, low=19 if self.study == "semantic_calibration" else 1)
        check_count("--bootstrap", self.bootstrap, low=2)
        check_fraction("--level", self.level)
        with self.noting():
            staged = staged_plan(self.study, self.plan)
            analysis = analysis_of(self.study, self.plan, staged)
        if self.budget is not None:
            staged = replace(staged, plan=replace(staged.plan, budget=self.budget))
        if self.dry_run:
            self._foretell(staged)
            return 0
        prepared(self.out, report=self.report)  # checks the output before requests are paid for
        found = _Found(self.study)
        who = StandIns(simulated=self.simulated, local=self.local, seed=self.seed)
        with who.answering(self.study, staged) as (staged, respondents):
            for collection in self._collected(staged, found):
                if collection.stopped or collection.halted:
                    self._tell(found)
                    return exit_code(collection) or MISSING
        for name, output in self._studied(staged, analysis):
            found.studies[name] = output.results
            if not (self.json or self.quiet):
                told = filter(None, (output.remark.rstrip(), output.summary))
                print(f"\n{name}:", *told, sep="\n")
                if self.report:
                    print(f"Report: {self._folder(staged, name) / 'report.html'}")
        if respondents is not None:
            loud = not (self.json or self.quiet)
            found.truths = held_against(respondents, found.studies, self.out, loud=loud)
        self._tell(found)
        return 0 if found.complete else MISSING

    def _collected(self, staged: "StagedPlan", found: "_Found") -> "Iterable[Collection]":
        """Run the stages in order, and yield the collection of each."""
        from psychollm.cli.collect import asked
        from psychollm.cli.prompts import counted, write_prompts

        for number, (name, plan) in enumerate(staged.plans(), start=1):
            head = f"Stage {number} of {1 + len(staged.steps)}, {name}: "
            loud = not (self.json or self.quiet)
            if loud:
                print(f"{head}{counted(len(plan.prompts), 'prompt')}", flush=True)
            if not plan.prompts:
                found.stages.append({"stage": name, "n_prompts": 0})
                continue
            write_prompts(plan.prompts, self.out / f"{number}-{name}.jsonl")
            collection = asked(plan, quiet=self.quiet, progress=self.progress)
            if loud:
                print(collection.summary())
            table = collection.to_dict() | {"stage": name, "n_prompts": len(plan.prompts)}
            found.stages.append(table)
            found.complete &= collection.complete
            yield collection

    def _studied(
        self, staged: "StagedPlan", analysis: Mapping[str, Any]
    ) -> "Iterable[tuple[str, Found]]":
        """Yield the result of each instrument."""
        from psychollm.cli.carry_out import carry_out
        from psychollm.cli.study_store import Study
        from psychollm.collect.readings import instruments_in
        from psychollm.collect.store import Store

        with Store(staged.plan.store, create=False) as store:
            held = instruments_in(store)
        for name in _studies_in(staged):
            if name not in held:  # no stage had prompts of this instrument
                continue
            command = Study(
                inputs=(staged.plan.store,),
                instrument=name,
                null=self.null,
                bootstrap=self.bootstrap,
                level=self.level,
                seed=self.seed,
                jobs=self.jobs,
                out=self._folder(staged, name),
                report=self.report,
                simulated=self.simulated,
                analysis=analysis if name in STUDY_PARTS[self.study].first else {},
                quiet=self.quiet,
                repeats="error" if staged.plan.repeats == 1 else "majority",
            )
            yield name, carry_out(command)

    def _folder(self, staged: "StagedPlan", name: str) -> Path:
        return self.out / name if len(_studies_in(staged)) > 1 else self.out

    def _tell(self, found: "_Found") -> None:
        if self.json:
            told = {"study": found.study, "stages": found.stages, "studies": found.studies}
            self.say(told | ({"truths": found.truths} if found.truths else {}))

    def _foretell(self, staged: "StagedPlan") -> None:
        """Print a preview of the requests and cost of each stage."""
        from psychollm.cli.prompts import counted

        stages = dict(staged.previews())
        if self.json:
            told = [{"stage": name, **one.to_dict()} for name, one in stages.items()]
            self.say({"study": self.study, "stages": told})
            return
        requests, tokens, cost = 0, 0, 0.0
        for number, (name, one) in enumerate(stages.items(), start=1):
            print(*(f"{text}\n" for text in one.prompts), sep="\n", end="")
            most = "at most " if number > 1 else ""
            print(f"Stage {number}, {name}:")
            rows = zip(one.models, one.requests, one.tokens, one.most_cost, strict=True)
            for model, n, length, price in rows:
                print(f"  {model}: {most}{counted(n, 'request')}{_amount(length, price)}")
            requests, tokens = requests + sum(one.requests), tokens + sum(one.tokens)
            cost += sum(one.most_cost)
        most = "at most " if len(stages) > 1 else ""
        budget = "" if staged.plan.budget is None else f" (budget {staged.plan.budget:.4g})"
        whole = f"{most}{counted(requests, 'request')}{_amount(tokens, cost)}{budget}"
        print(f"Total: {whole}. Nothing was sent.")


def _amount(tokens: int, cost: float) -> str:
    return f", about {tokens:,} tokens" + (f", at most {cost:.3g}" if cost else "")


@dataclass(slots=True)
class _Found:
    """Results of a run of a study."""

    study: str
    stages: list[dict[str, Any]] = field(default_factory=list)
    studies: dict[str, Any] = field(default_factory=dict)
    truths: list[dict[str, Any]] = field(default_factory=list)  # true parameters of simulations
    complete: bool = True


def _studies_in(staged: "StagedPlan") -> list[str]:
    """Return the instruments of a staged plan that have a study, in the order of its parts."""
    from psychollm.cli.study_store import of_stores
    from psychollm.instruments.instrument import instrument_of

    known = of_stores()
    asked = [instrument_of(prompt) for prompt in staged.plan.prompts]
    later = [step.name for step in staged.steps if step.name in known]
    return [name for name in dict.fromkeys([*asked, *later]) if name in known]


def prompts_of(path: Path) -> "tuple[Prompt, ...]":
    """Return a plan's first prompts, from its list of prompts or from its study settings."""
    from psychollm.collect.plan import read_plan, table_of

    tables = table_of(path).get("study")
    if not isinstance(tables, dict):
        return read_plan(path).prompts
    asked = set(tables) - {"analysis"}
    fits = [name for name, one in STUDY_PARTS.items() if asked <= {*one.first, *one.later}]
    if not fits:
        msg = f"{path}: {', '.join(sorted(asked))} do not belong to one study"
        raise OptionError(msg)
    return staged_plan(fits[0], path).plan.prompts


def staged_plan(study: StudyName, path: Path) -> "StagedPlan":
    """Read a plan with the settings of a study.

    Parameters
    ----------
    study : str
        Name of the study.
    path : Path
        Path of the plan.

    Raises
    ------
    OptionError
        If the plan has no study settings, or if they are invalid.
    InputError
        If a file cannot be read.
    """
    from psychollm.cli.plan_arms import asked
    from psychollm.cli.settings import at
    from psychollm.collect.plan import read_plan, table_of
    from psychollm.collect.staged import StagedPlan

    tables = _tables(study, table_of(path).get("study"), path)
    tables.pop("analysis", None)
    parts = STUDY_PARTS[study]
    first: dict[str, Any] = {}  # settings of the first stage, in one table or one per arm
    later: dict[str, dict[str, Any]] = {}
    for name, table in tables.items():
        arms = isinstance(table, list)
        here = arms or (name in parts.first and (name not in parts.later or "questions" in table))
        (first if here else later)[name] = table
    if not first and len(parts.first) == 1:
        first = {parts.first[0]: {}}
    if not first:
        msg = (
            f"{path}: no first stage: add one of "
            f"{', '.join(f'[study.{name}]' for name in parts.first)}"
            " (revision and scaffold with questions)"
        )
        raise OptionError(msg)
    models = [one.get("name", one.get("model")) for one in table_of(path).get("models", [])]
    prompts = [one for name, table in first.items() for one in asked(name, table, path, models)]
    plan = read_plan(path, prompts=prompts)
    if "scaffold" in tables and "coding" in later:
        later["coding"] = {"of": ["scaffold"], **later["coding"]}
    steps = [_step(name, later[name], path) for name in parts.later if name in later]
    with at(f"{path}"):
        return StagedPlan(plan=plan, steps=tuple(steps))


def analysis_of(study: StudyName, path: Path, staged: "StagedPlan") -> dict[str, Any]:
    """Return a plan's analysis settings, after checking that the models they name exist."""
    from psychollm.cli.settings import settings
    from psychollm.collect.plan import table_of
    from psychollm.instruments.arms import arm_of

    table = _tables(study, table_of(path).get("study"), path).get("analysis")
    asked = [model.name for model in staged.respondents]
    if study == "shared_confidence":
        from psychollm.data.screen import ScreenRules
        from psychollm.factor.one_factor.residuals import LEAST_MODELS

        n_questions = len({prompt.item for prompt in staged.plan.prompts})
        for what, n, least in (
            ("models", len(asked), LEAST_MODELS),
            ("questions", n_questions, ScreenRules().min_answers),
        ):
            if n < least:
                msg = f"{path}: {study} needs {least} {what}, but the plan has {n}"
                raise OptionError(msg)
    if table is None:
        return {}
    where = f"{path}, [study.analysis]"
    given = settings(ANALYSES.get(study, Baseline), table, where, path.parent)
    arms = list(dict.fromkeys(filter(None, map(arm_of, staged.plan.prompts))))
    if "baseline" in given and (arms or study != "semantic_calibration"):
        if given["baseline"] not in arms:
            known = ", ".join(arms) or "there are none"
            msg = f"{where}: baseline = {given['baseline']!r} is not an arm of the plan ({known})"
            raise OptionError(msg)
        asked = [*asked, given["baseline"]]
    for name, value in given.items():
        named = [value] if isinstance(value, str) else [one for pair in value for one in pair]
        if lost := [one for one in named if one not in asked]:
            msg = f"{where}: {name} has {lost[0]!r}: use some of {', '.join(asked)}"
            raise OptionError(msg)
        if not isinstance(value, str) and any(len(set(pair)) < len(pair) for pair in value):
            msg = f"{where}: {name} compares a model with itself"
            raise OptionError(msg)
    return given


def _tables(study: StudyName, table: Any, path: Path) -> dict[str, Any]:
    """Return the tables of a study's parts."""
    parts = STUDY_PARTS[study]
    known = list(dict.fromkeys([*parts.first, *parts.later]))
    known.append("analysis")
    shown = ", ".join(f"[study.{name}]" for name in known)
    if table is None:
        msg = f"{path} has no settings of {study}: its tables are {shown}"
        raise OptionError(msg)
    for name, one in table.items() if isinstance(table, dict) else [("study", table)]:
        arms = isinstance(one, list) and name in parts.first
        if name not in known or not (arms or isinstance(one, dict)):
            fault = "is not a table" if name in known else f"is not part of {study}"
            msg = f"{path}: study.{name} {fault}: its tables are {shown}"
            raise OptionError(msg)
    return dict(table)


def _step(name: str, table: Mapping[str, Any], path: Path) -> "Step":
    """Return a later stage of a study, with its settings."""
    from psychollm.cli.settings import settings
    from psychollm.collect.staged import Step
    from psychollm.instruments.stages import STAGES

    where, stage = f"{path}, [study.{name}]", STAGES[name]
    options = dict(table)
    judge = options.pop("judge", None) if stage.judged else None
    if stage.judged and not isinstance(judge, str):
        msg = f'{where}: judge = "NAME" must name a model of the plan'
        raise OptionError(msg)
    return Step(name=name, options=settings(stage.make, options, where, path.parent), judge=judge)
