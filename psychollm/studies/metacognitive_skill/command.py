"""`psychollm study` for replies and codes of the metacognitive instruments."""

from typing import TYPE_CHECKING, Any

from psychollm._base.errors import InputError
from psychollm.cli.study_store import Studied, answers_table, studied

if TYPE_CHECKING:
    import pandas as pd

    from psychollm.cli.study import OfTables
    from psychollm.cli.study_store import Scores
    from psychollm.collect.readings import Readings


def _abstention(command: "OfTables", scores: "Scores", readings: "Readings") -> Studied:
    from psychollm.studies.metacognitive_skill.abstention import abstention_skill

    answers = answers_table(scores)
    study = abstention_skill(answers, **command.replication)
    return Studied(study=study, more={"answers": answers})


def _revision(command: "OfTables", scores: "Scores", readings: "Readings") -> Studied:
    from psychollm.studies.metacognitive_skill.revision import revision_skill

    return Studied(
        study=revision_skill(scores, people=command.analysis.get("people"), level=command.level)
    )


def _coding(command: "OfTables", scores: "Scores", readings: "Readings") -> Studied:
    """Study the judges' codes, and codes by rules if the coding scheme defines cues."""
    import pandas as pd

    from psychollm.instruments.coding.scoring import code_again
    from psychollm.studies.metacognitive_skill.study import metacognitive_skill

    frames = []
    for judge, one in scores.items():
        frame = one.to_frame()
        again = frame["coder"].str.removeprefix("judge")  # second codings end in "-2"
        frames.append(frame.assign(coder=judge + again))
    rules = code_again(next(iter(readings.prompts.values())))
    frames += [] if rules is None else [rules.to_frame()]
    table = pd.concat(frames, ignore_index=True)
    coder, *_ = scores
    study = metacognitive_skill(table, coder=coder, **_arms(table), **command.replication)
    return Studied(
        study=study,
        more={"codes": table},
        imports="""\
import pandas as pd
from psychollm.instruments.coding.scoring import code_again
""",
        read="""\
    said = psy.collect.readings(store, instrument={instrument!r}{arm})
scores = said.pooled_scores()""",
        rest="""\
coded = [(judge, one.to_frame()) for judge, one in scores.items()]
coded = [one.assign(coder=judge + one["coder"].str.removeprefix("judge")) for judge, one in coded]
rules = code_again(next(iter(said.prompts.values())))
codes = pd.concat(coded if rules is None else [*coded, rules.to_frame()])""",
    )


def _arms(table: "pd.DataFrame") -> dict[str, Any]:
    """Return the baseline arm, and the arm compared with it."""
    from psychollm.instruments.scaffold.result import DIRECTED, SPONTANEOUS

    arms = list(dict.fromkeys(table["arm"].tolist()))
    if {SPONTANEOUS, DIRECTED} <= set(arms):
        return {"baseline": SPONTANEOUS, "prompted": DIRECTED}
    return {"baseline": arms[0]} if len(arms) > 1 else {}


def _scaffold(command: "OfTables", scores: "Scores", readings: "Readings") -> Studied:
    """Study the effect of directions on answers and on rule-coded behaviours."""
    from psychollm.cli.instrument import traces_in
    from psychollm.instruments.coding import Coding
    from psychollm.studies.metacognitive_skill.study import metacognitive_skill

    found = traces_in(command.inputs[0], of=("scaffold",), arm=command.arm)
    traces = [one for one in found if one.model in scores]
    if not traces:
        msg = f"{command.inputs[0]} has no replies to the prompts of scaffold"
        raise InputError(msg)
    table = Coding(transcripts=traces).by_rules().to_frame()
    study = metacognitive_skill(table, **_arms(table), **command.replication)
    return Studied(
        study=study,
        more={"codes": table, "answers": answers_table(scores)},
        # The study accepts codes but no scores.
        read="""\
    replies = psy.collect.replied(store{arm})
traces = psy.instruments.stages.transcripts(replies, of=({instrument!r},))""",
        without="traces = [one for one in traces if one.model not in absent]",
        rest="codes = psy.instruments.Coding(transcripts=traces).by_rules().to_frame()",
    )


STORES = {
    "abstention": studied(_abstention),
    "revision": studied(_revision),
    "coding": studied(_coding),
    "scaffold": studied(_scaffold),
}
