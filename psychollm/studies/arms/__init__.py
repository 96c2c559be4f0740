"""Arms of one instrument side by side: what differs between two ways of asking."""
