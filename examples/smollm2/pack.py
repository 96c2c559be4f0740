"""Pack a finished run into the files of the package: ``python pack.py [STORE]``.

Every reply is stored completely, with its parsed value, the probability mass of yes and no at the
first token, and the finish reason. Unreadable replies have the name of the problem in place of a
value. Replies are stored by columns and questions, because replies to the same question compress
well.
"""

import argparse
import csv
import lzma
import tomllib
from io import StringIO
from pathlib import Path

import psychollm as psy
from psychollm.collect.export import replies
from psychollm.collect.store import Store
from psychollm.instruments.self_prediction import read_reply

HERE = Path(__file__).parent
FILES = Path(psy.__file__).parent / "data" / "files"
COLUMNS = (
    "model", "question", "part", "reply", "finish_reason", "outcome", "value", "yes", "no",
)  # fmt: skip


def rows(store):
    """Yield the stored fields of each reply, in the order of the plan."""
    for prompt, row in replies(store):
        part, text = prompt.about["part"], row["text"]
        if text is None:
            yield (row["model"], prompt.item, part, "", "", "failed", "", "", "")
            continue
        reading = read_reply(prompt, text, finish_reason=row["finish_reason"])
        value = "" if reading.value is None else int(reading.value)
        mass = ("", "")
        if part == "predict" and row["yes_mass"] is not None:
            yes, no = (round(1e3 * row[name]) for name in ("yes_mass", "no_mass"))
            mass = (yes, 1000 - yes - no)
        finish, outcome = row["finish_reason"], reading.outcome.value
        yield (row["model"], prompt.item, part, text, finish, outcome, value, *mass)


def main():
    """Write the replies, the questions and the respondents."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("store", type=Path, nargs="?", default=HERE / "smollm2.sqlite")
    with Store(parser.parse_args().store, create=False) as store:
        kept = list(rows(store))
    order = {model["name"]: k for k, model in enumerate(respondents())}
    questions = list(dict.fromkeys(row[1] for row in kept))
    kept.sort(key=lambda row: (questions.index(row[1]), order[row[0]]))
    text = StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerows(zip(COLUMNS, *kept, strict=True))
    packed = compressed((HERE / "questions.csv").read_bytes() + b"\0" + text.getvalue().encode())
    (FILES / "smollm2.csv.xz").write_bytes(packed)
    with (FILES / "smollm2_models.csv").open("w", encoding="utf-8", newline="") as file:
        lines = csv.writer(file, lineterminator="\n")
        lines.writerow(("model", "temperature", "system"))
        for model in respondents():
            warmth = model.get("parameters", {}).get("temperature", 0.0)
            lines.writerow((model["name"], warmth, model.get("system", "")))
    print(f"{len(kept)} replies, {len(packed) / 1000:.0f} kB")


def compressed(text):
    """Return the text compressed by xz."""
    # A byte of text depends on the preceding byte (lc), not on its position (pb).
    best = {"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "lc": 4, "pb": 0}
    return lzma.compress(text, filters=[best])


def respondents():
    """Return the models of the plan."""
    return tomllib.loads((HERE / "plan.toml").read_text(encoding="utf-8"))["models"]


if __name__ == "__main__":
    main()
