"""Codes of binary answers in tables of one byte per answer, importable without the compiler."""

NO, YES, MISSING = 0, 1, -1
