"""Verdicts of one or two factors with lapses and guesses: false positives, power, coverage.

Each cell simulates tables with known truth and applies the tests of `dimensionality` in the same
order, with 99 draws each: first of one normal factor and, if that is rejected, of one factor with
lapses.

    python -m validation.lapses run --tables 200 --folder F --part 0 2   # then --part 1 2
    python -m validation.lapses show --folder F --table docs/lapses_tables.md \
        --rates docs/lapse_rates_tables.md
    python -m validation.lapses real --data DIR --table docs/lapses_real_tables.md

Takes two hours and a quarter of CPU with 400 tables, by the times in its table.
"""

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

import psychollm as psy
from benchmarks.lapsing import Cell, simulate
from psychollm.data.pair_counts import CountedAnswers
from psychollm.factor.one_factor.full_information import full_information
from psychollm.factor.one_factor.residuals import residual_test, second_share_test
from psychollm.studies.dimensionality.lapse_tests import reported_share, with_lapses

ALPHA, DRAWS, LEAST_SHARE = 0.05, 99, 0.025


LAPSING = [
    Cell("no lapses", 19, 500),
    Cell("no lapses", 19, 2000),
    Cell("lapses .5 %", 19, 500, lapses=0.005),
    Cell("lapses .5 %", 19, 2000, lapses=0.005),
    Cell("lapses .5 %, yes rates 1-99 %", 19, 2000, rates="1-99", lapses=0.005),
    Cell("lapses 1 %", 14, 500, lapses=0.01),
    Cell("lapses 1 %", 19, 500, lapses=0.01),
    Cell("lapses 1 %, yes rates 1-99 %", 19, 500, rates="1-99", lapses=0.01),
    Cell("lapses 1 %", 19, 2000, lapses=0.01),
    Cell("lapses 1 %, yes rates 1-99 %", 19, 2000, rates="1-99", lapses=0.01),
    Cell("lapses 1 %, loadings .5-.95", 19, 2000, kind="varied", lapses=0.01),
    Cell("lapses 4 %", 19, 500, lapses=0.04),
    Cell("lapses 4 %", 19, 2000, lapses=0.04),
    Cell("lapses 4 %", 19, 10_570, lapses=0.04, tables=0.25),
    Cell("lapse rates differ, mean 1.4 %", 19, 2000, kind="uneven", lapses=0.01),
]
GUESSING = [
    Cell("guesses 20 %, accuracies 40-93 %", 14, 500, kind="weak", guesses=0.2),
    Cell("guesses 20 %, accuracies 7-93 %", 20, 1000, kind="wide", guesses=0.2),
    Cell("guesses 25 %, accuracies 7-93 %", 20, 1000, kind="wide", guesses=0.25),
    Cell("guesses 25 %, loadings .7", 20, 300, kind="test", guesses=0.25),
    Cell("guesses 20 % and lapses 2 %", 20, 1000, kind="wide", guesses=0.2, lapses=0.02),
    Cell("strongly skewed factor, lapses 1 %", 19, 2000, kind="skewed", lapses=0.01),
]
MIXED = [
    Cell("8 models, lapses 2 %", 8, 1000, lapses=0.02, tables=0.25),
    Cell("40 models, lapses 2 %", 40, 500, lapses=0.02, tables=0.25),
    Cell("only one model lapses, 15 %", 19, 2000, kind="alone", lapses=0.15, tables=0.25),
    Cell("lapses 2 %, all parsed as no", 19, 2000, kind="refusals", lapses=0.02, tables=0.25),
    Cell("30 % missing, lapses 2 %", 19, 2000, kind="missing", lapses=0.02, tables=0.25),
    Cell("heavy-tailed factor (t, 5 df), lapses 2 %", 19, 2000, "heavy", lapses=0.02, tables=0.25),
    Cell("logistic noise, lapses 2 %", 19, 2000, kind="logistic", lapses=0.02, tables=0.25),
    Cell("skewed factor, guesses 20 %", 20, 1000, kind="wide skewed", guesses=0.2, tables=0.25),
    Cell("rates differ, yes rates 1-99 %", 19, 2000, "uneven", "1-99", lapses=0.02, tables=0.25),
]
TWO = [
    Cell("second factor, random signs, 5 %", 19, 500, kind="second .05", lapses=0.01),
    Cell("second factor, random signs, 5 %", 19, 2000, kind="second .05", lapses=0.01),
    Cell("two halves correlated .8 (9 %)", 19, 500, kind="halves .8", lapses=0.01),
    Cell("two halves correlated .8 (9 %)", 19, 2000, kind="halves .8", lapses=0.01),
    Cell("low and high thresholds correlated .8", 19, 2000, kind="levels .8", lapses=0.01),
    Cell("factor of extreme models (5 %)", 19, 500, kind="ext", lapses=0.01),
    Cell("factor of extreme models (5 %)", 19, 2000, kind="ext", lapses=0.01),
    Cell("four models share a factor (3 %)", 19, 2000, kind="private", lapses=0.01),
    Cell("two halves .8, guesses 20 %", 20, 1000, kind="weak halves .8", guesses=0.2),
]
LEVELS = [
    Cell("easy and hard questions uncorrelated", 20, 300, kind="test levels 0"),
    Cell("easy and hard questions correlated .3", 20, 300, kind="test levels .3"),
    Cell("easy and hard questions uncorrelated", 20, 1000, kind="test levels 0"),
    Cell("easy and hard questions correlated .3", 20, 1000, kind="test levels .3"),
    Cell("easy and hard questions correlated .6", 20, 1000, kind="test levels .6"),
]
CELLS = [*LAPSING, *GUESSING, *TWO, *LEVELS, *MIXED]


def judged(cell: Cell, seed: int) -> dict[str, float]:
    """Judge one table as `dimensionality` does; only the tests, without the plain spectrum."""
    rng = np.random.default_rng([20261201, seed, *map(ord, cell.key)])
    yes, loading, rate = simulate(cell, rng)
    varies = np.nanmin(yes, axis=1) < np.nanmax(yes, axis=1)
    yes, loading, rate = (part[varies] for part in (yes, loading, rate))
    answers = CountedAnswers.of(yes)
    start = time.process_time()
    one = residual_test(answers, n_null=DRAWS, rng=rng, n_jobs=1)
    share = second_share_test(answers, n_null=DRAWS, rng=rng, n_jobs=1)
    full = full_information(answers)
    without = time.process_time() - start
    found = {
        "p_one": one.p_value,
        "two_without": float(
            one.p_value <= ALPHA and share.p_value <= ALPHA and share.observed >= LEAST_SHARE
        ),
        "seconds_without": without,
        "loading_bias_without": float(np.mean(full.loadings - loading)),
    }
    if one.p_value > ALPHA:
        return found | {"seconds": without}
    lapses = with_lapses(
        answers,
        without=full.log_likelihood,
        n_null=DRAWS,
        n_shares=DRAWS,
        level=1.0 - ALPHA,
        rng=rng,
    )
    low, high = lapses.fit.rate.interval.T
    share_with = reported_share(share, lapses, ALPHA)
    upper = share_with.observed + np.subtract(*np.quantile(share_with.draws, [0.975, 0.5]))
    return found | {
        "reaches": float(upper >= LEAST_SHARE),  # a second factor's proportion with its interval
        "p_with": lapses.test.p_value,
        "second": float(lapses.second_shown(ALPHA)),
        "undecided": float(lapses.undecided(ALPHA)),
        "share": share_with.observed,
        "covered": float(np.mean((low <= rate) & (rate <= high))),
        "rate": float(lapses.fit.rate.value.mean()),
        "true_rate": float(rate.mean()),
        "loading_bias": float(np.mean(lapses.fit.loadings - loading)),
        "seconds": time.process_time() - start,
    }


def run(options: argparse.Namespace) -> None:
    options.folder.mkdir(parents=True, exist_ok=True)
    part, parts = options.part
    # Run a few tables of each cell at a time, so that an interrupted run has some of each.
    for start in range(0, options.tables, 20):
        for place, cell in enumerate(CELLS):
            if place % parts != part or (options.mixed and cell not in MIXED):
                continue
            path = options.folder / f"{cell.key}.jsonl"
            done = len(path.read_text().splitlines()) if path.exists() else 0
            wanted = int(min(start + 20, options.tables) * cell.tables)
            with path.open("a") as file, warnings.catch_warnings():
                warnings.simplefilter("ignore")
                for seed in range(done, wanted):
                    file.write(json.dumps(judged(cell, seed)) + "\n")
        print(f"{min(start + 20, options.tables)} tables", flush=True)


def two(one: dict[str, float]) -> bool:
    """Return whether the verdict on a table is two."""
    return bool(one.get("second", 0.0)) and one["share"] >= LEAST_SHARE


def rows_of(cell: Cell, folder: Path) -> tuple[str, str] | None:
    """Return the row of a cell in the table of verdicts, and in that of estimates."""
    path = folder / f"{cell.key}.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    if not rows:
        return None
    fitted = [one for one in rows if "second" in one]

    def mean(name: str, text: str, scale: float = 1.0) -> str:
        values = [one[name] for one in rows if name in one]
        return text.format(scale * float(np.mean(values))) if values else ""

    still_open = [not two(one) and bool(one["reaches"]) for one in fitted]
    verdicts = [
        f"{len(rows)}",
        f"{np.mean([one['p_one'] <= ALPHA for one in rows]):.2f}",
        mean("two_without", "{:.2f}"),
        f"{np.mean([one.get('p_with', 1.0) <= ALPHA for one in rows]):.3f}",
        f"{np.mean([two(one) for one in rows]):.3f}",
        f"{np.mean([one.get('undecided', 0.0) for one in rows]):.3f}",
        f"{np.mean(still_open):.2f}" if fitted else "",
        mean("share", "{:.1f} %", 100.0),
        mean("seconds_without", "{:.2f}"),
        mean("seconds", "{:.2f}"),
    ]
    estimates = [
        f"{len(fitted)}",
        mean("true_rate", "{:.2f} %", 100.0),
        mean("rate", "{:.2f} %", 100.0),
        mean("covered", "{:.3f}"),
        mean("loading_bias_without", "{:+.3f}"),
        mean("loading_bias", "{:+.3f}"),
    ]
    head = f"| {cell.name} | {cell.models} x {cell.questions:,} | "
    return head + " | ".join(verdicts) + " |", head + " | ".join(estimates) + " |"


VERDICTS = (
    "tables|normal rejected|two, without|rejected, with|**two**|unclear|open|share|s, without|s"
)
ESTIMATES = "tables|lapse rate|estimated|covered|loadings, without|loadings, with"


def table(head: str, rows: list[str]) -> list[str]:
    columns = head.split("|")
    return [
        f"| data | size | {' | '.join(columns)} |",
        "|---|---|" + "---:|" * len(columns),
        *rows,
        "",
    ]


def show(options: argparse.Namespace) -> None:
    lines, estimates = [], []
    for title, cells in (
        ("One factor, models lapse", LAPSING),
        ("One factor, models guess", GUESSING),
        ("One factor, several departures together", MIXED),
        ("Two factors, and lapses of 1 %", TWO),
        ("Two factors of a test: easy and hard questions, no lapses", LEVELS),
    ):
        found = [rows for cell in cells if (rows := rows_of(cell, options.folder))]
        lines += [f"**{title}**", "", *table(VERDICTS, [one for one, _ in found])]
        if cells not in (TWO, LEVELS):
            estimates += [other for _, other in found]
    for path, text in (
        (options.table, lines),
        (
            options.rates,
            ["**Lapse rates and loadings, one factor**", "", *table(ESTIMATES, estimates)],
        ),
    ):
        path.write_text("\n".join([*text, "Made by `validation/lapses.py`.\n"]))
        print(path.read_text())


def wide(frame: pd.DataFrame, value: str, model: str, question: str) -> pd.DataFrame:
    return frame.pivot_table(index=model, columns=question, values=value, aggfunc="first")


def real_tables(data: Path) -> dict[str, pd.DataFrame | psy.Responses]:
    """Answers of public data sets by name; sources are those of docs/real_answers.md."""
    battery = {
        name: pd.read_csv(data / f"cacioli_battery20_{name}.csv.gz", index_col=0)
        for name in ("keep", "correct")
    }
    boards = pd.read_csv(data / "gastro_confidence_correct_long.csv.gz")
    stated = wide(boards, "confidence", "model", "item")
    stated = stated[stated.notna().sum(axis=1) >= 265]
    moore = wide(
        pd.read_parquet(data / "moore_lab_confidence_correct_long.parquet"),
        "stated_confidence",
        "llm",
        "question_id",
    )
    return {
        "answers kept (battery of 20 models)": battery["keep"],
        "correct (battery)": battery["correct"],
        "confidence of 8 or more (board questions)": (stated >= 8).where(stated.notna()) * 1.0,
        "correct (board questions)": wide(boards, "correct", "model", "item"),
        "confidence above .9 (5 question sets)": (moore > 0.9).where(moore.notna()) * 1.0,
        "correct (MMLU-Pro)": pd.read_csv(data / "mmlu_pro_correct.csv.gz", index_col=0),
        "exact match (SQuAD)": pd.read_csv(data / "squad_dev_v1.1_em.csv.gz", index_col=0),
        "embedded example": psy.load_example("shared_confidence").confidence,
        "SmolLM2, confidence": psy.load_example("smollm2").confidence,
    }


def real(options: argparse.Namespace) -> None:
    lines = ["| table | size | without lapses | verdict |", "|---|---|---|---|"]
    for name, table in real_tables(options.data).items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = psy.dimensionality(table, n_null=199, rng=1)
        one, share = found.one_factor_test.p_value, found.second_share
        before = "one factor"
        if one <= ALPHA:
            shown = share.p_value <= ALPHA and share.observed >= LEAST_SHARE
            before = "at least two" if shown else "local dependence"
        before = f"{before} (p = {one:.3f}, second {100 * share.observed:.1f} %)"
        asked = table.n_questions if isinstance(table, psy.Responses) else table.shape[1]
        size = f"{len(found.labels)} x {asked:,}"
        lines.append(f"| {name} | {size} | {before} | {found.verdict} |")
        print(lines[-1], flush=True)
    made = "The tables were made by `validation/lapses.py` with 199 draws for each test."
    lines += ["", made, ""]
    options.table.write_text("\n".join(lines))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(required=True)
    making = commands.add_parser("run")
    making.add_argument("--tables", type=int, default=400)
    making.add_argument("--part", type=int, nargs=2, default=(0, 1), metavar=("I", "N"))
    making.add_argument("--mixed", action="store_true", help="departures together only")
    making.set_defaults(run=run)
    showing = commands.add_parser("show")
    showing.add_argument("--table", type=Path, default=Path("lapses_tables.md"))
    showing.add_argument("--rates", type=Path, default=Path("lapse_rates_tables.md"))
    showing.set_defaults(run=show)
    looking = commands.add_parser("real")
    looking.add_argument("--data", type=Path, required=True)
    looking.add_argument("--table", type=Path, default=Path("lapses_real_tables.md"))
    looking.set_defaults(run=real)
    for each in (making, showing):
        each.add_argument("--folder", type=Path, default=Path("lapses"))
    options = parser.parse_args()
    options.run(options)


if __name__ == "__main__":
    main()
