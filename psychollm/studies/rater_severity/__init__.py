"""Estimate raters' severity by many-facet models of ratings from several judges or people."""
