"""Floor 3: what to ask models, and how to read and score what they reply; no network.

Each instrument is a room of its own; its class and its scores stand here, the rest there.
"""

from psychollm._base.entry import entries
from psychollm.instruments import readers, stages
from psychollm.instruments.abstention import Abstention, AbstentionScores, Askable, read_askable
from psychollm.instruments.coding import Coding, CodingScores, Scheme, Transcript
from psychollm.instruments.grading import (
    Grade,
    abstains,
    exact_match,
    grade,
    normalise,
    token_f1,
)
from psychollm.instruments.prompt import Message, Prompt
from psychollm.instruments.questions import Question, read_questions
from psychollm.instruments.reading import Outcome, Reading
from psychollm.instruments.revision import Revision, RevisionScores
from psychollm.instruments.rule_world import RuleWorld, RuleWorldScores, write_items
from psychollm.instruments.scaffold import Scaffold, ScaffoldScores
from psychollm.instruments.self_efficacy import (
    Scale,
    SelfEfficacy,
    SelfEfficacyScores,
    read_scale,
)
from psychollm.instruments.self_prediction import (
    SelfPrediction,
    SelfPredictionScores,
    confidence_and_correctness,
    stated_table,
)
from psychollm.instruments.semantic_sampling import SemanticSamples, SemanticSampling
from psychollm.instruments.wagering import Wagering, WageringScores

__all__ = [
    "Abstention",
    "AbstentionScores",
    "Askable",
    "Coding",
    "CodingScores",
    "Grade",
    "Message",
    "Outcome",
    "Prompt",
    "Question",
    "Reading",
    "Revision",
    "RevisionScores",
    "RuleWorld",
    "RuleWorldScores",
    "Scaffold",
    "ScaffoldScores",
    "Scale",
    "Scheme",
    "SelfEfficacy",
    "SelfEfficacyScores",
    "SelfPrediction",
    "SelfPredictionScores",
    "SemanticSamples",
    "SemanticSampling",
    "Transcript",
    "Wagering",
    "WageringScores",
    "abstains",
    "confidence_and_correctness",
    "exact_match",
    "grade",
    "normalise",
    "read_askable",
    "read_questions",
    "read_scale",
    "readers",
    "stages",
    "stated_table",
    "token_f1",
    "write_items",
]

entries(globals())
