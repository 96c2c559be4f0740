"""Whether models do worse on questions published after a date than difficulty explains."""
