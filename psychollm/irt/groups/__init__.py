"""Item response models for groups of respondents, and differential item functioning."""
