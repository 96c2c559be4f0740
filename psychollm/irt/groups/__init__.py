"""Item response models of several groups of respondents, and items that differ between them."""
