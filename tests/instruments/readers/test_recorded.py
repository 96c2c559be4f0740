"""Replies of a real model of 135 million parameters, limited to one token."""

import json
from collections import Counter

from psychollm.instruments.readers import read_yes_no


def test_recorded_predictions(shared):
    path = shared / "samples" / "smollm2_squad" / "raw_responses.jsonl"
    records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    choices = [
        record["response"]["choices"][0] for record in records if record["kind"] == "confidence"
    ]
    read = [
        read_yes_no(choice["message"]["content"], finish_reason=choice["finish_reason"])
        for choice in choices
    ]
    # Read by hand: 11 say "Yes", 21 say "No"; 28 break off after the first word of something else
    # ("The" 22, "This" 2, "Capital", "Electric", "Ph", "I").
    assert Counter(one.value for one in read) == {1: 11, 0: 21, None: 28}
    assert Counter(one.outcome.value for one in read) == {"answered": 32, "truncated": 28}
