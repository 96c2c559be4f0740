"""Remedies that the library words for Python, worded for the command line."""

_OPTIONS = (
    ("pass value=,", "pass --confidence-column or --correctness-column,"),
    ('codes={"yes": 1, "no": 0}', "--codes yes=1,no=0"),
    ("codes= (what words mean)", "--codes (what words mean)"),
    ('duplicates="first" or "last"', "--duplicates first or last"),
    (
        "split a stated confidence with Responses.from_confidence(values, threshold=...)",
        "split a stated confidence with --threshold",
    ),
    ("pass task=, with a scorer= for each", "pass --task, with --scorer TASK=NAME,... for each"),
    ("pass scorer=,", "pass --scorer,"),
    ("pass filter=,", "pass --filter,"),
    ("pass repeats=,", "pass --repeats,"),
    ("(with a threshold=)", "(with --threshold)"),
    ("pass threshold=,", "pass --threshold,"),
    ("no_answer='wrong'", "--no-answer wrong"),
    ("no_answer='missing'", "--no-answer missing"),
    ("match='label'", "--by-label"),
    ("columns= ", "--columns "),
    ("threshold=", "--threshold "),
    ("divide by ", "pass --scale "),
    ("scale=", "--scale "),
    ("responses.select(models=validity_screen(responses).usable)", "--drop-unusable"),
    ("responses.select(models=...)", "--leave-out MODEL"),
    ("psychollm.data.align(first, second)", "--common"),
    (".select(models=..., questions=...)", "--leave-out MODEL"),
    ("say repeats='first' or repeats='majority'", "pass --repeats first or --repeats majority"),
    ("choose one with instrument=...", "choose one with --instrument"),
    (
        "; read it with pandas and pass the frame to Responses.from_frame or Responses.from_long",
        ": write the table as one of these",
    ),
    ("; labels belong in the index (DataFrame.set_index)", ""),
)


def in_options(text: str) -> str:
    """Replace Python arguments by the options of the command."""
    for argument, option in _OPTIONS:
        text = text.replace(argument, option)
    return text
