"""Annex: asking models over the network, and keeping every word they say.

One TOML plan (`plan`) names endpoints, models and prompts; the client (`client`) asks; the store
(`store`), one SQLite file, keeps each request and each raw reply. Interrupted at any moment, the
same command goes on where it stopped. Needs httpx: ``pip install "psychollm[collect]"``.
"""
