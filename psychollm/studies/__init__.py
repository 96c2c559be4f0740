"""Floor 4: questions answered: each study combines the rooms below into one verdict."""
