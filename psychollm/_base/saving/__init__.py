"""Files of results in a documented, versioned format that contains data and no code.

A file is a zip archive with uncompressed members: ``result.json`` describes the result, and each
array is an ``.npy`` member that NumPy can also read by itself. ``docs/result_format.md`` documents
the format. The module `nodes` defines the grammar of saved files and the classes that they may
contain; the module `files` writes files and reads untrusted files.
"""
