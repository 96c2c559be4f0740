"""Components of variance: intraclass correlations, generalizability."""
