"""Prediction of difficulty from the text of questions, and a gate that answers or abstains."""
