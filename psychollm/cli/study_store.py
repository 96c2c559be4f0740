"""``psychollm study``, and what it does of a store: the study that fits its instruments."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from psychollm._base.errors import InputError
from psychollm.cli.carry_out import Found
from psychollm.cli.import_logs import is_store
from psychollm.cli.study import OfTables
from psychollm.cli.two_tables import Tables

if TYPE_CHECKING:
    import pandas as pd

    from psychollm.collect.readings import Readings
    from psychollm.collect.store import Store
    from psychollm.data.responses import Responses

    Scores = Mapping[Any, Any]  # by model
    # The study, and further tables by the names of their files.
    Studied = tuple[Any, dict[str, pd.DataFrame]]
    Compute = Callable[[OfTables, Scores, Readings], Studied]

MANY = 50_000  # requests, from which on it pays to start processes that read the replies
PREDICTION = "self_prediction"  # whose study is that of two tables
_CODE = """\
from pathlib import Path
from psychollm.instruments.self_prediction import confidence_and_correctness

with psy.collect.Store(Path({path!r})) as store:
    said = psy.collect.readings(store, instrument="self_prediction")
confidence, correctness = confidence_and_correctness(said.pooled_scores(){repeats})"""


_OPEN = """\
from pathlib import Path
{imports}
with psy.collect.Store(Path({path!r})) as store:
"""
_SCORES = "    scores = psy.collect.readings(store, instrument={instrument!r}).pooled_scores()"
_WITHOUT = "scores = {model: one for model, one in scores.items() if model not in absent}"
# Of an instrument: imports, how scores or codes are read, what leaves models out, and the rest.
_SOURCES = {
    "measured": (  # self-efficacy, where replies differ in stance
        "from psychollm.instruments.stages.judged import stance\n",
        f"{_SCORES}\n    replies = psy.collect.replied(store)",
        _WITHOUT,
        "measures = stance(replies, scores)",
    ),
    # The study takes codes and no scores.
    "scaffold": (
        "",
        """\
    replies = psy.collect.replied(store)
traces = psy.instruments.stages.transcripts(replies, of=({instrument!r},))""",
        "traces = [one for one in traces if one.model not in absent]",
        "codes = psy.instruments.Coding(transcripts=traces).by_rules().to_frame()",
    ),
    "coding": (
        "import pandas as pd\nfrom psychollm.instruments.coding.scoring import code_again\n",
        """\
    said = psy.collect.readings(store, instrument={instrument!r})
scores = said.pooled_scores()""",
        _WITHOUT,
        """\
coded = [(judge, one.to_frame()) for judge, one in scores.items()]
coded = [one.assign(coder=judge + one["coder"].str.removeprefix("judge")) for judge, one in coded]
rules = code_again(next(iter(said.prompts.values())))
codes = pd.concat(coded if rules is None else [*coded, rules.to_frame()])""",
    ),
}


def read_store(command: OfTables) -> Callable[[], Found]:
    """Read the store, and return what studies it."""
    from joblib import parallel_config

    from psychollm.collect.readings import readings
    from psychollm.collect.store import Store

    with Store(command.inputs[0], create=False) as store:
        name = _chosen(store, command.instrument)
        asked = sum(sum(kinds.values()) for kinds in store.counts().values())
        with parallel_config(backend="loky"):
            own = readings(store, instrument=name, n_jobs=command.jobs if asked > MANY else 1)
    if name == PREDICTION:
        return partial(command.judge, _prediction_tables(command, own))
    return partial(_judged, command, own, *_taking_part(command, own))


def _chosen(store: "Store", asked: str | None) -> str:
    """Return the instrument to study: the one asked for, or the only one that has a study."""
    from psychollm.collect.readings import instruments_in

    known = (PREDICTION, *STUDIES)
    held = instruments_in(store)
    fits = [name for name in held if name in known]
    name = (asked or "").replace("-", "_")
    if name in fits:
        return name
    if not asked and len(fits) == 1:
        return fits[0]
    holds = f"{store.path} holds {', '.join(held) or 'nothing'}"
    if not fits:
        msg = f"{holds}: there is a study of {', '.join(known)} only"
        if held:
            msg += f"; 'psychollm score {store.path}' scores what is there"
        raise InputError(msg)
    msg = f"{holds}: choose one with --instrument {'|'.join(fits)}"
    raise InputError(msg)


def _prediction_tables(command: OfTables, readings: "Readings") -> "Tables[Responses]":
    """Return who said yes and who was right, with the lines that make the tables."""
    from psychollm.instruments.self_prediction import confidence_and_correctness

    both = confidence_and_correctness(readings.pooled_scores(), repeats=command.repeats)
    given = "" if command.repeats == "error" else f", repeats={command.repeats!r}"
    path = str(command.inputs[0])
    code = _CODE.format(path=path, repeats=given)
    return command.reduced(Tables(*both, (path,), code))


def _taking_part(command: OfTables, readings: "Readings") -> "tuple[Scores, list[Any]]":
    """Return the scores of the models that take part, and those that do not."""
    absent = list(command.absent(readings.models))
    scores = readings.pooled_scores()
    return {model: one for model, one in scores.items() if model not in absent}, absent


def _judged(command: OfTables, readings: "Readings", scores: "Scores", absent: list[Any]) -> Found:
    study, more = STUDIES[readings.instrument](command, scores, readings)
    summary = study.summary(smallest=command.smallest)
    name = readings.instrument
    options = f"bootstrap={command.bootstrap}, level={command.level}, rng={command.seed}"
    if name == "semantic_sampling":
        options = f"n_null={command.null}, {options}"
    kind = name
    if name == "self_efficacy":
        kind = "measured" if study.links else ""
        options = f"measures=measures, {options}" if study.links else options
    imports, read, without, rest = _SOURCES.get(kind, ("", _SCORES, _WITHOUT, ""))
    path = str(command.inputs[0])
    head = (_OPEN + read).format(imports=imports, path=path, instrument=name)
    left_out = f"absent = {absent!r}\n{without}" if absent else ""
    source = "\n".join(filter(None, (head, left_out, rest)))
    numbers = {
        "verdict": summary.splitlines()[0],
        "summary": summary,
        "outcomes": readings.outcomes,
        "level": command.level,
        "seed": command.seed,
    }
    found = command.of_study(study, "", numbers, remark=f"{readings.summary()}\n")
    page = command.page_of(study, source, options)
    return replace(found, tables={**found.tables, **more}, page=page)


def _answers(scores: "Scores") -> "pd.DataFrame":
    import pandas as pd

    frames: list[pd.DataFrame] = [one.to_frame(model) for model, one in scores.items()]
    return pd.concat(frames, ignore_index=True)


def _boundary(command: OfTables, scores: "Scores", readings: "Readings") -> "Studied":
    from psychollm.studies.inference_boundary.study import inference_boundary

    answers = _answers(scores)
    return inference_boundary(answers, **command.replication), {"answers": answers}


def _efficacy(command: OfTables, scores: "Scores", readings: "Readings") -> "Studied":
    from psychollm.collect.export import replied
    from psychollm.collect.store import Store
    from psychollm.instruments.stages.judged import stance
    from psychollm.studies.self_efficacy.study import self_efficacy

    with Store(command.inputs[0], create=False) as store:
        measures = stance(replied(store), scores)
    return self_efficacy(scores, measures=measures, **command.replication), {}


def _semantic(command: OfTables, scores: "Scores", readings: "Readings") -> "Studied":
    from psychollm.studies.semantic_calibration.study import semantic_calibration

    return semantic_calibration(scores, n_null=command.null, **command.replication), {}


def _abstention(command: OfTables, scores: "Scores", readings: "Readings") -> "Studied":
    from psychollm.studies.metacognitive_skill.abstention import abstention_skill

    answers = _answers(scores)
    return abstention_skill(answers, **command.replication), {"answers": answers}


def _revision(command: OfTables, scores: "Scores", readings: "Readings") -> "Studied":
    from psychollm.studies.metacognitive_skill.revision import revision_skill

    return revision_skill(scores, level=command.level), {}


def _coding(command: OfTables, scores: "Scores", readings: "Readings") -> "Studied":
    """Study what judges coded, and beside them the rules, where the scheme has cues."""
    import pandas as pd

    from psychollm.instruments.coding.scoring import code_again
    from psychollm.studies.metacognitive_skill.study import metacognitive_skill

    frames = []
    for judge, one in scores.items():
        frame = one.to_frame()
        again = frame["coder"].str.removeprefix("judge")  # "-2" of a second coding
        frames.append(frame.assign(coder=judge + again))
    rules = code_again(next(iter(readings.prompts.values())))
    frames += [] if rules is None else [rules.to_frame()]
    table = pd.concat(frames, ignore_index=True)
    coder, *_ = scores
    study = metacognitive_skill(table, coder=coder, **_arms(table), **command.replication)
    return study, {"codes": table}


def _arms(table: "pd.DataFrame") -> dict[str, Any]:
    """Return which arm is the baseline, and which is held against it."""
    from psychollm.instruments.scaffold.result import DIRECTED, SPONTANEOUS

    arms = list(dict.fromkeys(table["arm"].tolist()))
    if {SPONTANEOUS, DIRECTED} <= set(arms):
        return {"baseline": SPONTANEOUS, "prompted": DIRECTED}
    return {"baseline": arms[0]} if len(arms) > 1 else {}


def _scaffold(command: OfTables, scores: "Scores", readings: "Readings") -> "Studied":
    """Study what directions do to answers, and to what traces show, as rules code them."""
    from psychollm.cli.instrument import traces_in
    from psychollm.instruments.coding import Coding
    from psychollm.studies.metacognitive_skill.study import metacognitive_skill

    found = traces_in(command.inputs[0], of=("scaffold",))
    traces = [one for one in found if one.model in scores]
    if not traces:
        msg = f"{command.inputs[0]} holds no replies to the prompts of scaffold"
        raise InputError(msg)
    table = Coding(transcripts=traces).by_rules().to_frame()
    study = metacognitive_skill(table, **_arms(table), **command.replication)
    return study, {"codes": table, "answers": _answers(scores)}


STUDIES: "dict[str, Compute]" = {
    "rule_world": _boundary,
    "self_efficacy": _efficacy,
    "semantic_sampling": _semantic,
    "abstention": _abstention,
    "revision": _revision,
    "coding": _coding,
    "scaffold": _scaffold,
}


@dataclass(frozen=True, kw_only=True)
class Study(OfTables):
    """The command."""

    @property
    def reads(self) -> str:
        """What is read."""
        return "the replies" if is_store(*self.inputs) else super().reads

    def read(self) -> Callable[[], Found]:
        """Read the tables, or the store."""
        return read_store(self) if is_store(*self.inputs) else super().read()
