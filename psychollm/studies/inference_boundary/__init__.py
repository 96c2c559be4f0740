"""Inference boundary: whether models recognise which questions the given rules can answer."""
