"""What a coder is told."""

from psychollm.instruments.coding.schemes import Scheme

_ROLE = (
    "You code transcripts of reasoning. You look for what the writer does about its own thinking, "
    "not for whether the thinking is right."
)
_SCALE = (
    "Give each category a code: 0 if nothing of the kind is there; 1 if there is a trace of it, "
    "or it is left half done; 2 if it is plainly there. For a code of 1 or 2, quote the words "
    "that show it, exactly as they stand, at most 20 words each, one quotation for every place."
)
# No codes in it that could be copied: a reply that copies it is no JSON.
_FORM = '{"CATEGORY": {"code": CODE, "quotes": ["QUOTATION", ...]}, ...}'


def coding_task(scheme: Scheme, text: str) -> tuple[str, str, int]:
    """Return the role and the task of a coder, and where the transcript begins in the task."""
    defined = "\n".join(f"- {one.name}: the writer {one.meaning}." for one in scheme.categories)
    head = f"{_SCALE}\n\n{defined}\n\nTRANSCRIPT\n<<<\n"
    tail = (
        "\n>>>\n\nReply with one JSON object and nothing else, all categories in it, of this "
        f"form: {_FORM}"
    )
    return _ROLE, f"{head}{text}{tail}", len(head)
