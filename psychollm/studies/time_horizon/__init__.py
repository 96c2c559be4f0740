"""How long a task can a model do: time horizons over all tasks and for a typical task."""
