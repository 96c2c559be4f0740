"""Readers of files, one per format, which return `Responses`."""

from psychollm.data.readers.files import (
    read_clusters,
    read_labels,
    read_responses,
    read_table,
    read_words,
)

__all__ = ["read_clusters", "read_labels", "read_responses", "read_table", "read_words"]
