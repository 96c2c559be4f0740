"""Inference boundary: whether models know how far given rules carry."""
