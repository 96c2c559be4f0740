"""Graded replies as records of Every Eval Ever, a shared schema for evaluation results.

Each model has two files: aggregate results (``UUID.json``) and individual replies
(``UUID_samples.jsonl``).

References
----------
EvalEval Coalition. Every Eval Ever, schema 0.3.0.
"""

import json
import math
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, TypeAlias
from uuid import NAMESPACE_URL, uuid5

from psychollm._base.checks import check_choice
from psychollm._base.errors import InputError
from psychollm._base.version import __version__
from psychollm.collect.export import REPLIES
from psychollm.collect.store import Store

SCHEMA = "0.3.0"  # version of the schema of written records
Relationship: TypeAlias = Literal["first_party", "third_party", "collaborative", "other"]
_ARGUMENTS = ("temperature", "top_p", "top_k", "max_tokens")  # fields of the schema


def every_eval_ever(
    store: Store,
    folder: Path,
    *,
    name: str,
    grades: Mapping[str, float],
    organisation: str = "unknown",
    relationship: Relationship = "third_party",
) -> tuple[Path, ...]:
    """Write graded replies as records of Every Eval Ever, two files per model.

    Parameters
    ----------
    store : Store
        Store with the requests and replies of a run.
    folder : Path
        Root folder; files are written to ``data/NAME/DEVELOPER/MODEL/`` below it.
    name : str
        Name of the evaluation.
    grades : mapping of str to float
        Score, from 0 to 1, by request key (column ``key`` of `to_frame`); 1 is correct. The schema
        requires a score for each reply. Requests without a score, including failed ones, are
        omitted; the aggregate record states their number.
    organisation : str
        Organisation that publishes the results.
    relationship : {"first_party", "third_party", "collaborative", "other"}
        Relationship of the evaluator to the model developer.

    Returns
    -------
    tuple of Path
        Two paths per model, in the order of the models: aggregate record and reply records.

    Raises
    ------
    InputError
        If a grade is outside [0, 1], or a file cannot be written.

    References
    ----------
    EvalEval Coalition. Every Eval Ever, schema 0.3.0.

    Examples
    --------
    >>> folder = getfixture("tmp_path")
    >>> with Store(folder / "run.sqlite") as store:
    ...     every_eval_ever(store, folder, name="quiz", grades={})
    ()
    """
    check_choice("relationship", relationship, Relationship)
    if wrong := [key for key, grade in grades.items() if not 0.0 <= grade <= 1.0]:
        msg = f"grades: request {wrong[0]} has {grades[wrong[0]]}, which is outside [0, 1]"
        raise InputError(msg)
    rows: dict[str, list[Any]] = {}
    for row in store.rows(REPLIES):
        rows.setdefault(row["model"], []).append(row)
    source = {
        "source_name": "psychollm",
        "source_type": "evaluation_run",
        "source_organization_name": organisation,
        "evaluator_relationship": relationship,
    }
    written: list[Path] = []
    for model, own in rows.items():
        graded = [row for row in own if row["state"] == "answered" and row["key"] in grades]
        if graded:
            one = _Evaluation(name, model, own, graded, [float(grades[r["key"]]) for r in graded])
            written += one.write(folder, source)
    return tuple(written)


class _Evaluation:
    """The graded replies of one model."""

    def __init__(
        self,
        name: str,
        model: str,
        rows: Sequence[Any],
        graded: Sequence[Any],
        grades: Sequence[float],
    ) -> None:
        self.name = name
        self.model = model
        self.rows = rows  # one row per request, with or without a grade
        self.graded = graded
        self.grades = grades
        self.asked = [json.loads(row["canonical"]) for row in graded]
        self.model_id = str(self.asked[0]["model_id"])
        self.started = min(row["started"] for row in graded)
        # The identifier is a digest of the content, so that the same replies always have the same
        # identifier.
        self.id = f"{name}/{self.model_id}/{model}/{self.started:.0f}"

    @property
    def developer(self) -> str:
        """Developer of the model, if its id names the developer."""
        before, slash, _ = self.model_id.rpartition("/")
        return before if slash else "unknown"

    def write(self, folder: Path, source: Mapping[str, str]) -> tuple[Path, Path]:
        """Write both files and return their paths."""
        home = folder / "data" / _safe(self.name) / _safe(self.developer)
        home = home / _safe(self.model_id.rpartition("/")[2])
        stem = str(uuid5(NAMESPACE_URL, f"{self.name}/{self.model_id}/{self.model}"))
        whole, single = home / f"{stem}.json", home / f"{stem}_samples.jsonl"
        records = [
            _record(row, asked, self, grade)
            for row, asked, grade in zip(self.graded, self.asked, self.grades, strict=True)
        ]
        lines = "".join(json.dumps(record) + "\n" for record in records)
        try:
            home.mkdir(parents=True, exist_ok=True)
            single.write_text(lines, encoding="utf-8", newline="\n")
            table = json.dumps(self.aggregate(source, single.name, lines), indent=2)
            whole.write_text(table + "\n", encoding="utf-8", newline="\n")
        except OSError as error:
            msg = f"{home} cannot be written: {error.strerror}"
            raise InputError(msg) from error
        return whole, single

    def aggregate(self, source: Mapping[str, str], file: str, lines: str) -> dict[str, Any]:
        """Return the record with the aggregate results."""
        return {
            "schema_version": SCHEMA,
            "evaluation_id": self.id,
            "evaluation_timestamp": f"{self.started:.0f}",
            "retrieved_timestamp": f"{time.time():.0f}",
            "source_metadata": dict(source),
            "eval_library": {"name": "psychollm", "version": __version__},
            "model_info": self._model_info(),
            "evaluation_results": [
                {
                    "evaluation_result_id": f"{self.id}/grade",
                    "evaluation_name": self.name,
                    "source_data": {"dataset_name": self.name, "source_type": "other"},
                    "evaluation_timestamp": f"{self.started:.0f}",
                    "metric_config": self._metric(),
                    "score_details": self._score(),
                    "generation_config": self._generation(),
                }
            ],
            "detailed_evaluation_results": {
                "format": "jsonl",
                "file_path": file,
                "hash_algorithm": "sha256",
                "checksum": sha256(lines.encode()).hexdigest(),
                "total_rows": len(self.graded),
            },
        }

    def _model_info(self) -> dict[str, Any]:
        details = {
            "served_model": _common([row["served_model"] for row in self.graded]),
            "system_fingerprint": _common([row["fingerprint"] for row in self.graded]),
        }
        info = {"name": self.model, "id": self.model_id, "developer": self.developer}
        if (provider := _common([row["provider"] for row in self.graded])) is not None:
            info["inference_platform"] = str(provider)
        known = {name: str(value) for name, value in details.items() if value is not None}
        return info | ({"additional_details": known} if known else {})

    def _metric(self) -> dict[str, Any]:
        binary = set(self.grades) <= {0.0, 1.0}
        return {
            "evaluation_description": f"Mean grade of the replies to {self.name}",
            "metric_id": "accuracy" if binary else f"{_safe(self.name)}.mean_grade",
            "metric_name": "Accuracy" if binary else "Mean grade",
            "metric_kind": "accuracy" if binary else "mean_grade",
            "metric_unit": "proportion",
            "lower_is_better": False,
            "score_type": "continuous",
            "min_score": 0.0,
            "max_score": 1.0,
        }

    def _score(self) -> dict[str, Any]:
        score = math.fsum(self.grades) / len(self.grades)
        states = Counter(str(row["state"]) for row in self.rows)
        counts = {
            "graded": len(self.graded),
            "answered_without_grade": states["answered"] - len(self.graded),
            "failed": states["failed"],
            "not_asked": states["open"] + states["waiting"],
        }
        details: dict[str, Any] = {
            "score": score,
            "details": {name: str(n) for name, n in counts.items()},
        }
        error = _standard_error([row["item"] for row in self.graded], self.grades)
        if error is not None:
            details["uncertainty"] = {
                "standard_error": {"value": error, "method": "analytic, clustered by item"},
                "num_samples": len(self.grades),
            }
        return details

    def _generation(self) -> dict[str, Any]:
        """Return the parameters common to all requests, by name."""
        given = [asked["parameters"] for asked in self.asked]
        names = sorted({name for one in given for name in one})
        shared = {name: _common([one.get(name) for one in given]) for name in names}
        known = {name: value for name, value in shared.items() if value is not None}
        other = {
            name: value if isinstance(value, str) else json.dumps(value)
            for name, value in known.items()
            if name not in _ARGUMENTS
        }
        config = {"generation_args": {k: v for k, v in known.items() if k in _ARGUMENTS}}
        return config | ({"additional_details": other} if other else {})


def _standard_error(items: Sequence[str], grades: Sequence[float]) -> float | None:
    """Return the standard error of the mean, clustered by item."""
    mean = math.fsum(grades) / len(grades)
    sums: dict[str, float] = {}
    for item, grade in zip(items, grades, strict=True):
        sums[item] = sums.get(item, 0.0) + grade - mean
    m = len(sums)
    if m < 2:
        return None
    spread = math.fsum(one**2 for one in sums.values())
    return math.sqrt(spread * m / (m - 1)) / len(grades)


def _common(values: Sequence[Any]) -> Any:
    """Return the value that all requests have in common, or None if values differ."""
    return values[0] if all(value == values[0] for value in values) else None


def _record(
    row: Any, canonical: Mapping[str, Any], whole: _Evaluation, score: float
) -> dict[str, Any]:
    """Return the record of one reply."""
    prompt = json.loads(row["prompt"])
    sent = json.loads(row["sent"])
    turns = sent.get("messages", [{"role": "user", "content": sent.get("prompt", "")}])
    asked = prompt["messages"][-1]["content"]
    reference = [str(one) for one in prompt.get("about", {}).get("reference", [])]
    single = row["follows"] is None
    record: dict[str, Any] = {
        "schema_version": SCHEMA,
        "evaluation_id": whole.id,
        "evaluation_result_id": f"{whole.id}/grade",
        "model_id": canonical["model_id"],
        "evaluation_name": whole.name,
        "sample_id": f"{row['prompt_key']}#{row['repeat']}.{row['sample']}",
        "sample_hash": sha256((asked + "".join(reference)).encode()).hexdigest(),
        "interaction_type": "single_turn" if single else "multi_turn",
        "input": {"raw": asked, "reference": reference},
        "output": {"raw": [row["text"]]} if single else None,
        "answer_attribution": [
            {
                "turn_idx": 0 if single else len(turns),
                "source": "output.raw" if single else "messages[turn_idx].content",
                "extracted_value": row["text"],
                "extraction_method": "psychollm",
                "is_terminal": True,
            }
        ],
        "evaluation": {"score": score, "is_correct": score == 1.0},
        "performance": {"latency_ms": 1000.0 * row["seconds"]},
        "metadata": {"respondent": row["model"], "item": row["item"]},
    }
    if not single:
        conversation = [*turns, {"role": "assistant", "content": row["text"]}]
        record["messages"] = [
            {"turn_idx": turn_index, "role": turn["role"], "content": turn["content"]}
            for turn_index, turn in enumerate(conversation)
        ]
    if row["input_tokens"] is not None and row["output_tokens"] is not None:
        used = {"input_tokens": row["input_tokens"], "output_tokens": row["output_tokens"]}
        record["token_usage"] = used | {"total_tokens": sum(used.values())}
    return record


def _safe(name: str) -> str:
    """Return a name as a valid folder name."""
    kept = "".join(letter if letter.isalnum() or letter in "-_." else "_" for letter in name)
    return kept.strip(".") or "_"
