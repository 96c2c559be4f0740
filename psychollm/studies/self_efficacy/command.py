"""What `psychollm study` does of ratings of self-efficacy."""

from typing import TYPE_CHECKING

from psychollm.cli.study_store import SCORES, Studied, studied

if TYPE_CHECKING:
    from psychollm.cli.study import OfTables
    from psychollm.cli.study_store import Scores
    from psychollm.collect.readings import Readings


def _efficacy(command: "OfTables", scores: "Scores", readings: "Readings") -> Studied:
    from psychollm.collect.export import replied
    from psychollm.collect.store import Store
    from psychollm.instruments.stages.judged import stance
    from psychollm.studies.self_efficacy.study import self_efficacy

    with Store(command.inputs[0], create=False) as store:
        measures = stance(replied(store, arm=command.arm), scores)
    study = self_efficacy(scores, measures=measures, **command.replication)
    if not study.links:  # replies do not differ in stance
        return Studied(study=study)
    return Studied(
        study=study,
        imports="from psychollm.instruments.stages.judged import stance\n",
        read=SCORES + "\n    replies = psy.collect.replied(store{arm})",
        rest="measures = stance(replies, scores)",
        options="measures=measures",
    )


STORES = {"self_efficacy": studied(_efficacy)}
