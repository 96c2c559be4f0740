"""Write the prompts of the example data set: ``python make_prompts.py`` after make_questions.py.

Without examples SmolLM2-135M gives the same answer, no or yes, to every question. The six examples
below are the same for every respondent: the model solves five of them, and nobody can solve the
sixth. They shift the thresholds of all respondents equally, not the differences between them.
"""

import argparse
import json
from pathlib import Path

import psychollm as psy

HERE = Path(__file__).parent
EXAMPLES = (
    ("What did Napoleon's hat weigh, in grams?", False),
    ("What is the capital of the United Kingdom?", True),
    ("What is 1 plus 1?", True),
    ("What sound does a cat make?", True),
    ("What colour is snow?", True),
    ("What colour is the sky on a clear day?", True),
)


def lines() -> list[str]:
    """Return the prompts, one JSON object a line."""
    asked = psy.instruments.SelfPrediction(
        questions=psy.instruments.read_questions(HERE / "questions.csv"),
        form="direct",
        examples=EXAMPLES,
        max_tokens=3,
        answer_tokens=20,
    )
    return [json.dumps(prompt.to_dict(), ensure_ascii=False) for prompt in asked.prompts()]


def main() -> None:
    """Write ``prompts.jsonl`` next to this file."""
    argparse.ArgumentParser(description=__doc__.partition("\n")[0]).parse_args()
    made = lines()
    (HERE / "prompts.jsonl").write_text("\n".join(made) + "\n", encoding="utf-8")
    print(f"{len(made)} prompts")


if __name__ == "__main__":
    main()
