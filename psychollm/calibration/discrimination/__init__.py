"""How well confidence tells right answers from wrong ones."""
