"""Files of results: one documented, versioned format that holds data and no code.

A file is a zip archive with uncompressed members: ``result.json`` describes the result, and each
array is an ``.npy`` member that NumPy can also read alone. ``docs/result_format.md`` documents the
format; `nodes` has its grammar and the classes that a file may contain, `files` reads untrusted
files.
"""
