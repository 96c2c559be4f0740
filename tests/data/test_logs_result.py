"""What an import of logs says of itself."""

import json

from psychollm.data.logs import read_logs
from tests.data.test_logs import LONG


def test_summary_and_counts(write):
    found = read_logs(write(LONG + "b,q,,\n".replace(",\n", "\n")))
    assert found.summary().splitlines() == [
        "1 log (table): 2 models x 2 questions of task 'a'.",
        "4 answers, 3 with a score; 2 of 3 cells are correct (66.7 %).",
        "Missing: 1 of 4 cells (25.0 %). Answers without a score: 1 (not scored).",
    ]
    assert repr(found).startswith("LogImport: 1 log")
    counts = found.counts()
    assert json.loads(json.dumps(counts)) == counts
    assert (counts["answers"], counts["scored"], counts["cells_right"]) == (4, 3, 2)
