"""Second stages: prompts made from replies to earlier prompts.

A stage is a pure function from replies to prompts. The same replies always give the same prompts,
and further replies give further prompts, so an interrupted run can be resumed at any point. There
are two kinds of stages. Some stages ask a judge about replies:

* `grading`: are the answers right, or do two answers have the same meaning?
* `coding`: which behaviours does a reasoning trace show?

The other stages continue the conversation with each model:

* `feedback`: the model receives feedback on its tasks and rates itself again;
* `revision`: the model reviews its answer, or a user doubts it or insists on another answer;
* `scaffold`: the model answers the same question again, with directions on how to think.

Prompts of a stage are self-contained. The messages of a prompt include the earlier turns, and
`Prompt.to` names the recipient. ``about`` contains the name of the stage (``after``) and the name
of the model to which a verdict refers (``judges``).
"""

from psychollm.instruments.stages.continued import feedback, revision, scaffold
from psychollm.instruments.stages.judged import coding, grading, transcripts
from psychollm.instruments.stages.replied import Replied
from psychollm.instruments.stages.stage import STAGES, Stage

__all__ = [
    "STAGES",
    "Replied",
    "Stage",
    "coding",
    "feedback",
    "grading",
    "revision",
    "scaffold",
    "transcripts",
]
