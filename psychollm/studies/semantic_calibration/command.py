"""`psychollm study` for sampled answers."""

from typing import TYPE_CHECKING

from psychollm.cli.study_store import Studied, studied

if TYPE_CHECKING:
    from psychollm.cli.study import OfTables
    from psychollm.cli.study_store import Scores
    from psychollm.collect.readings import Readings


def _semantic(command: "OfTables", scores: "Scores", readings: "Readings") -> Studied:
    from psychollm.studies.semantic_calibration.study import semantic_calibration

    study = semantic_calibration(scores, n_null=command.null, **command.replication)
    return Studied(study=study, options=f"n_null={command.null}")


STORES = {"semantic_sampling": studied(_semantic)}
