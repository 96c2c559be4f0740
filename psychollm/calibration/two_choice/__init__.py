"""Statistics of two-choice questions with confidence ratings, such as meta-d'."""
