"""Files to `Responses`: one reader per format, one door."""

from psychollm.data.readers.files import read_clusters, read_responses, read_table

__all__ = ["read_clusters", "read_responses", "read_table"]
