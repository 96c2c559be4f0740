"""Querying of models over the network, with storage of every reply.

A TOML plan (`read_plan`) names endpoints, models and prompts, and `collect` sends the requests.
The store (`Store`), one SQLite file, keeps each request and each raw reply. Calling `collect`
again resumes an interrupted run. `readings` parses the replies with the instruments that made the
prompts. Sending requests requires httpx (``pip install "psychollm[collect]"``), but reading a
store does not.
"""

from psychollm._base.lazy import load_lazily

load_lazily(__name__)
