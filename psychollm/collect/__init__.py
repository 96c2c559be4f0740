"""Annex: asking models over the network, and keeping every word they say.

One TOML plan (`read_plan`) names endpoints, models and prompts; `collect` asks; the store
(`Store`), one SQLite file, keeps each request and each raw reply. Interrupted at any moment, the
same call goes on where it stopped. `readings` hands the replies to the instruments that asked.
Asking needs httpx: ``pip install "psychollm[collect]"``; reading what is there does not.
"""

from psychollm._base.lazy import load_lazily

load_lazily(__name__)
