"""Published headlines about language models, reproduced or not from public tables.

One module per source. Each has a `TITLE`, a `SOURCE`, and `claims(data)`, which reads the tables
in a folder and yields what was claimed, what is found, and whether the one bears out the other.
``python -m validation.ledger`` runs them all.
"""
