"""Counting and scanning a Parquet file of a hundred million answers, compared with reading it.

    python -m validation.large_table --models 1000 --questions 100000

The file is written first (text labels, in random order within blocks of questions, Zstandard);
then each step runs in its own process, so that its peak memory is measured separately. ``read``
reads the same columns in the same batches and drops them; ``count2`` uses two workers; ``scan``
writes the cells to a folder, by question and by model; ``database`` does the same from a DuckDB
database. ``--answered 0.1`` makes a sparse panel. Takes three minutes of CPU, extrapolated from
four million answers.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np

BLOCK = 1_000  # questions per row group


def write(path: Path, models: int, questions: int, answered: float) -> int:
    """Write the file and return the number of its rows."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(20261121)
    names = pa.array([f"organisation/model-{i:05d}" for i in range(models)])
    ability = rng.normal(0.5, 0.6, models)
    index = pa.dictionary(pa.int32(), pa.string())
    schema = pa.schema([("model", index), ("question", index), ("value", pa.int8())])
    rows = 0
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for start in range(0, questions, BLOCK):
            size = min(BLOCK, questions - start)
            labels = pa.array([f"question-{start + i:07d}" for i in range(size)])
            difficulty = rng.normal(0, 1, size)[:, None]
            right = rng.random((size, models)) < 1 / (1 + np.exp(difficulty - ability))
            asked = rng.random((size, models)) < answered
            question, model = np.nonzero(asked)
            order = rng.permutation(question.size)  # avoids runs that compress too well
            question, model = question[order], model[order]
            columns = [
                pa.DictionaryArray.from_arrays(pa.array(model.astype(np.int32)), names),
                pa.DictionaryArray.from_arrays(pa.array(question.astype(np.int32)), labels),
                pa.array(right[question, model].astype(np.int8)),
            ]
            writer.write_table(pa.table(columns, schema=schema))
            rows += question.size
    return rows


def read(path: Path) -> dict[str, object]:
    """Read all batches and drop them."""
    import pyarrow.parquet as pq

    from psychollm.data.pair_counts_blocks import BATCH

    rows = 0
    with pq.ParquetFile(path, read_dictionary=["model", "question"]) as file:
        for batch in file.iter_batches(batch_size=BATCH):
            rows += batch.num_rows
    return {"rows": rows}


def count(path: Path, n_jobs: int | None = None) -> dict[str, object]:
    """Count all pairs of models."""
    from psychollm.data.pair_counts_blocks import read_pair_counts

    counts = read_pair_counts(path, n_jobs=n_jobs)
    return {
        "models": len(counts.labels),
        "pairs": len(counts.labels) * (len(counts.labels) - 1) // 2,
        "answers": int(np.diagonal(counts.n).sum()),
    }


def table(path: Path) -> dict[str, object]:
    """Read the whole as a table."""
    from psychollm.data.pair_counts_blocks import stream_responses

    found = stream_responses(path)
    return {"models": found.n_models, "questions": found.n_questions}


def scan(path: Path) -> dict[str, object]:
    """Leave the cells in a folder, sorted by question and by model."""
    import psychollm as psy

    start = time.process_time()
    found = psy.data.scan(path)
    middle = time.process_time()
    _ = found.by_model
    return {
        "answers": found.n_answers,
        "by_question_cpu_s": round(middle - start, 2),
        "by_model_cpu_s": round(time.process_time() - middle, 2),
    }


def database(path: Path) -> dict[str, object]:
    """Do the same from a database of DuckDB."""
    return scan(path.with_suffix(".duckdb"))


def copy(path: Path) -> dict[str, object]:
    """Copy the file into a database of DuckDB."""
    import duckdb

    with duckdb.connect(str(path.with_suffix(".duckdb"))) as connection:
        connection.read_parquet(str(path)).create("answers")
    return {"mb": round(path.with_suffix(".duckdb").stat().st_size / 1e6)}


STEPS = {
    "read": read,
    "count": count,
    "count2": partial(count, n_jobs=2),
    "table": table,
    "scan": scan,
    "copy": copy,
    "database": database,
}


def measured(step: str, path: Path) -> None:
    """Run one step in this process and print what it took."""
    import pyarrow.parquet as pq

    from psychollm.data.pair_counts_blocks import read_pair_counts

    if step.startswith("count"):  # compile first, which happens once per machine
        small = path.with_suffix(".small.parquet")
        with pq.ParquetFile(path) as file:
            pq.write_table(file.read_row_group(0).slice(0, 500), small)
        read_pair_counts(small)
    if step in {"scan", "database"}:
        import pandas as pd

        import psychollm as psy

        psy.data.scan(pd.DataFrame({"model": ["a", "b"], "question": [1, 2], "value": [0, 1]}))
    wall, cpu = time.perf_counter(), time.process_time()
    found = STEPS[step](path)
    found |= {
        "wall_s": round(time.perf_counter() - wall, 2),
        "cpu_s": round(time.process_time() - cpu, 2),
        "peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
    }
    print(json.dumps(found))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", type=int, default=1_000)
    parser.add_argument("--questions", type=int, default=100_000)
    parser.add_argument("--answered", type=float, default=1.0)
    parser.add_argument("--folder", type=Path, help="where the file goes; by default a new one")
    parser.add_argument("--step", choices=STEPS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.step:
        measured(options.step, options.folder)
        return
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        path = Path(folder) / "long.parquet"
        rows = write(path, options.models, options.questions, options.answered)
        print(f"{rows:,} rows, {path.stat().st_size / 1e6:,.0f} MB")
        for step in STEPS:
            command = [sys.executable, "-m", "validation.large_table", "--step", step]
            done = subprocess.run(
                [*command, "--folder", str(path)], capture_output=True, text=True, check=True
            )
            print(f"{step:8} {done.stdout.strip()}", flush=True)


if __name__ == "__main__":
    main()
