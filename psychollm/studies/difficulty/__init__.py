"""Prediction of difficulty from question texts, and a gate that decides whether to answer."""
