"""How many factors: parallel analysis and the other rules of retention."""
