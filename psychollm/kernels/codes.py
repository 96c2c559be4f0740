"""Integer codes of binary answers that are stored in one byte each."""

NO, YES, MISSING = 0, 1, -1
