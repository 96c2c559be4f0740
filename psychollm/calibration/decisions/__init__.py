"""Binary confidence: confusion tables and their statistics."""
