"""Which raters are harsh: many-facet models of ratings by several judges or people."""
