"""Scores of scales: alpha and its kin, split halves, statistics of items."""
