"""All metrics of all models at once."""
