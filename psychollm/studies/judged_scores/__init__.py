"""What people would say, from a judge's verdicts on all answers and people's labels of some."""
