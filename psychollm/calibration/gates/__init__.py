"""From which confidence on a model may answer alone."""
