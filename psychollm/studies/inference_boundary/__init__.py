"""Inference boundary: whether models recognise which questions given rules answer."""
