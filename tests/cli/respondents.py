"""What simulated models and a judge reply over the wire, by model and conversation alone."""

import json
import re
import zlib
from pathlib import Path

from tests.collect.hostile import Act, Body, said

MODELS = ("a", "b", "c", "d")
_NAMED = ("Right answer", "Answer")


def questions(folder: Path, n_questions: int) -> None:
    """Write sums, each with a right answer."""
    rows = [f"q{n},What is {n} + 40?,{n + 40},numeric" for n in range(n_questions)]
    (folder / "q.csv").write_text("\n".join(["id,question,answer,rule", *rows]) + "\n")


def reply(body: Body) -> str:
    """Return what a model says to a conversation."""
    turns = body["messages"]
    last = turns[-1]["content"]
    mark = zlib.crc32((body["model"] + json.dumps(turns)).encode())
    drawn = mark % 100
    if "Do their answers mean the same thing" in last:
        return "no"
    if "Compare a reply with the right answer" in last:
        right, found = (re.search(rf"{name}: (\d+)", last)[1] for name in _NAMED)
        return "Yes" if right == found else "No"
    if "All categories" in last or "one JSON object" in last:
        found = re.findall(r"^- (\w+):", last, re.M)
        return json.dumps({name: {"code": 2 * (drawn % 2), "quotes": []} for name in found})
    if 'Verdict: yes" or "Verdict: no' in last:
        return f"Verdict: {'yes' if drawn < 30 else 'no'}"
    if "Would you answer it correctly" in last or "whether you would answer it" in last:
        return "Answer: Yes" if drawn < 60 else "Answer: No"
    if "numbered" in last or re.search(r"^10\. ", last, re.M) or "ratings once more" in last:
        return "\n".join(f"{n}. {1 + (drawn + n) % 4}" for n in range(1, 11))
    if "Give the letter" in last:
        return "Answer: A"
    asked = next((re.search(r"(\d+) \+ 40", turn["content"]) for turn in reversed(turns)
                  if re.search(r"(\d+) \+ 40", turn["content"])), None)  # fmt: skip
    right = int(asked[1]) + 40 if asked else 59
    checks = "Let me check that. " if drawn % 3 else ""
    return f"{checks}So it goes, by note {mark:x}.\nAnswer: {right if drawn < 70 else right + 7}"


def script(body: Body, n: int) -> Act:
    """Reply properly."""
    return said(reply(body))
