"""Metacognitive skill: monitoring behaviour, abstention and revision of models."""
