"""Questions with two choices: meta-d' and what rests on trials."""
