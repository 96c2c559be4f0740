"""`psychollm study` for ratings of self-efficacy."""

from typing import TYPE_CHECKING, Any

from psychollm.cli.study_store import READ, SCORES, Studied, studied

if TYPE_CHECKING:
    from collections.abc import Iterator

    from psychollm.cli.study import OfTables
    from psychollm.cli.study_store import Scores
    from psychollm.collect.readings import Readings


def _efficacy(command: "OfTables", scores: "Scores", readings: "Readings") -> Studied:
    import numpy as np

    from psychollm.collect.export import replied
    from psychollm.collect.store import Store
    from psychollm.instruments.stages.judged import stance
    from psychollm.studies.self_efficacy.study import self_efficacy

    with Store(command.inputs[0], create=False) as store:
        measures: dict[str, Any] = stance(replied(store, arm=command.arm), scores)
    read = SCORES + "\n    replies = psy.collect.replied(store{arm})"
    rest = ["measures = stance(replies, scores)"]
    for name, by, of in _likely(scores, readings):
        measures[name] = np.log(readings.perplexity(by=by, of=of))
        rest.append(f"measures[{name!r}] = np.log(said.perplexity(by={by!r}, of={of!r}))")
    if len(rest) > 1:
        said = "    said = psy.collect.readings(store, instrument={instrument!r}{arm})\n"
        read = said + read.replace(READ, "said")
    study = self_efficacy(scores, measures=measures, **command.replication)
    if not study.links:  # the replies do not differ in stance
        return Studied(study=study)
    return Studied(
        study=study,
        imports="import numpy as np\n" * (len(rest) > 1)
        + "from psychollm.instruments.stages.judged import stance\n",
        read=read,
        rest="\n".join(rest),
        options="measures=measures",
    )


def _likely(
    scores: "Scores", readings: "Readings"
) -> "Iterator[tuple[str, tuple[str, ...], dict[str, Any]]]":
    """Yield the name, grouping columns and row filter of each available measure of perplexity."""
    rows = readings.likelihoods()
    rows = rows[rows["model"].isin(list(scores))]
    if rows.empty:
        return
    personas = sorted(set(rows["persona"]), key=str)
    plain = {"persona": "plain" if "plain" in personas else personas[0]}
    tasks = rows[rows["stage"] == "task"]
    graded = ("level",) if tasks.get("graded", tasks["stage"].eq("")).any() else ()
    if len(tasks):
        yield "log perplexity of work on tasks", ("condition", *graded), {"stage": "task", **plain}
    if len(tasks) < len(rows):
        first = {"phrasing": None, "feedback": None, **plain}
        ratings = {"stage": ["scale", "item"], **first}
        yield "log perplexity of ratings", ("condition", *graded), ratings


STORES = {"self_efficacy": studied(_efficacy)}
