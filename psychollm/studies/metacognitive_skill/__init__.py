"""Metacognitive skill: what models do about their own thinking, and what it is worth."""

from psychollm.studies.metacognitive_skill.abstention import AbstentionSkill, abstention_skill
from psychollm.studies.metacognitive_skill.arms import Scaffolding
from psychollm.studies.metacognitive_skill.coders import CoderAgreement
from psychollm.studies.metacognitive_skill.deployment import Deployment
from psychollm.studies.metacognitive_skill.revision import RevisionSkill, revision_skill
from psychollm.studies.metacognitive_skill.structure import StructureContrast
from psychollm.studies.metacognitive_skill.study import MetacognitiveSkill, metacognitive_skill

__all__ = [
    "AbstentionSkill",
    "CoderAgreement",
    "Deployment",
    "MetacognitiveSkill",
    "RevisionSkill",
    "Scaffolding",
    "StructureContrast",
    "abstention_skill",
    "metacognitive_skill",
    "revision_skill",
]
