"""Exploratory factor analysis: extraction, rotation, standard errors of loadings."""
