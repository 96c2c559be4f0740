"""Floor 2: the table of responses, and everything that reads, checks, counts or simulates one."""
