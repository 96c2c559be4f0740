"""Summary of an evaluation on one page: accuracies, ranks, variance and data quality."""
