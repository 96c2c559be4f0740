"""Annex: query models over the network and store every reply.

A TOML plan (`read_plan`) names endpoints, models and prompts, and `collect` sends the requests.
The store (`Store`), one SQLite file, keeps each request and each raw reply. An interrupted run is
resumed by the same call. `readings` parses the replies with the instruments that made the prompts.
Sending requests needs httpx: ``pip install "psychollm[collect]"``; reading a store does not.
"""

from psychollm._base.lazy import load_lazily

load_lazily(__name__)
