"""Floor 3: tetrachoric correlations of models or questions, their smoothing, their spectrum."""
