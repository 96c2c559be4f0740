"""`psychollm study` for replies to the instrument rule-world."""

from typing import TYPE_CHECKING

from psychollm.cli.study_store import Studied, answers_table, studied

if TYPE_CHECKING:
    from psychollm.cli.study import OfTables
    from psychollm.cli.study_store import Scores
    from psychollm.collect.readings import Readings


def _boundary(command: "OfTables", scores: "Scores", readings: "Readings") -> Studied:
    from psychollm.studies.inference_boundary.study import inference_boundary

    answers = answers_table(scores)
    study = inference_boundary(answers, **command.replication)
    return Studied(study=study, more={"answers": answers})


STORES = {"rule_world": studied(_boundary)}
