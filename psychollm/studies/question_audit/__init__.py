"""Detection of wrong answer keys and of other faulty questions."""
