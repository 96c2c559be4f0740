"""Files of results: one documented, versioned format that holds data and no code.

A file is a zip archive whose members are stored, never packed: ``result.json`` says what the
result is, and each array is an ``.npy`` member beside it (NumPy reads them alone, too). The format
stands in ``docs/result_format.md``; `nodes` is its grammar and says which classes may be made from
a file, `files` reads what nobody vouches for.
"""
