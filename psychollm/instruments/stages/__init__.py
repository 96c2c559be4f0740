"""Second stages: prompts that are made from the replies to others.

A stage is a function from replies to prompts, and nothing else: the same replies make the same
prompts, and further replies make further ones, so that a run that was broken off can be taken up
anywhere. There are two kinds. Some stages ask a judge about what models have said:

* `grading`: are the answers right, or do two of them mean the same?
* `coding`: what does a trace of reasoning show?

The others go on with each model, in the conversation that it has had:

* `feedback`: it is told how its tasks went, and rates itself again;
* `revision`: it reviews its answer, or meets a user who doubts it or insists on another one;
* `scaffold`: it is asked the same again, with directions on how to think.

Prompts of a stage need nothing but themselves to be asked, read and scored: earlier turns stand
among their messages, `Prompt.to` says to whom they are put, and ``about`` holds the name of the
stage (``after``), and whose replies a verdict is about (``judges``).
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
