"""Item banks for models outside the bank, compared with other designs.

    python -m validation.item_bank_replay run --data ../shared/data        # hours; adds to the CSV
    python -m validation.item_bank_replay run --stopped       # only sessions that stop at a width
    python -m validation.item_bank_replay show                             # the page of tables

Real tables are read at ../shared/data (see docs/real_answers.md for their sources); two are
simulated with properties of real ones: several abilities, families of models with common errors,
and copies of one model. Each table is split into five parts twice, once by random models and once
by whole families. A bank is calibrated on four parts and replayed on the fifth. Takes hours.
"""

import argparse
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

import psychollm as psy

HERE = Path(__file__).resolve().parent
CSV = HERE / "item_bank_replay.csv.gz"
PAGE = HERE.parent / "docs" / "item_bank_tables.md"
FRONTIER = HERE.parent / "docs" / "_static" / "item_bank" / "frontier.png"
SIZES = (50, 100, 300, 1000)
WIDTHS = (0.03, 0.05)
DESIGNS = (
    "bank",
    "random",
    "stratified",
    "assisted",
    "information",
    "anchors",
    "p_irt",
    "gp_irt",
)
CLUSTERED = ("anchors", "gp_irt")
N_PARTS = 5
# Substrings of lower-case model names; the first one found is the family.
MAKERS = {
    "llama": "llama",
    "hermes": "llama",
    "reflection": "llama",
    "nemotron": "llama",
    "vicuna": "llama",
    "phi": "phi",
    "qwen": "qwen",
    "smaug": "qwen",
    "codegen3": "qwen",
    "lcb-math": "qwen",
    "deepseek": "deepseek",
    "claude": "claude",
    "command": "command",
    "gpt": "gpt",
    "o1": "gpt",
    "o3": "gpt",
    "grok": "grok",
    "zephyr": "mistral",
    "mistral": "mistral",
    "mixtral": "mistral",
    "mathstral": "mistral",
    "starling": "mistral",
    "yi-": "yi",
    "gemini": "gemini",
    "gemma": "gemini",
}


def maker(model: str) -> str:
    """Return the family of a model by its name."""
    name = model.lower()
    return next((family for part, family in MAKERS.items() if part in name), name[:8])


def livebench(data: Path) -> tuple[pd.DataFrame, pd.Series]:
    """Return scores, and the task of each question."""
    long = pd.read_parquet(data / "livebench_scores.parquet")
    scores = long.pivot_table(index="model", columns="question", values="score", aggfunc="mean")
    return scores, long.drop_duplicates("question").set_index("question")["task"]


def mmlu_pro(data: Path) -> tuple[pd.DataFrame, None]:
    """Return binary scores."""
    return pd.read_csv(data / "mmlu_pro_correct.csv.gz", index_col=0), None


def mmlu_redux(data: Path) -> tuple[pd.DataFrame, pd.Series]:
    """Return binary scores by the key, and the subject of each question."""
    table = pd.read_csv(data / "mmlu_redux_options.csv.gz", index_col=0, dtype=str)
    options = table.drop(columns=["subject", "key", "label"])
    right = options.eq(table["key"], axis=0).astype(float)
    return right.T, table["subject"]


def bridge(data: Path) -> tuple[pd.DataFrame, None]:
    """Return which tasks agents solved: most cells are empty."""
    long = pd.read_csv(data / "bridge_agents.csv.gz")
    return long.pivot_table(index="model", columns="task", values="solved", aggfunc="mean"), None


def simulated(n: int, j: int, seed: int) -> pd.DataFrame:
    """Return answers of families of models, among them copies, that need four abilities."""
    rng = np.random.default_rng(seed)
    n_families = max(6, n // 8)
    family = rng.integers(n_families, size=n)
    ability = rng.normal(size=(n_families, 4))[family] * 0.7 + rng.normal(size=(n, 4)) * 0.7
    slopes = np.stack(
        [np.exp(0.4 * rng.normal(size=j)), *rng.normal(size=(3, j)) * (rng.random((3, j)) < 0.3)]
    )
    quirks = 0.6 * rng.normal(size=(n_families, j))[family]
    logits = ability @ slopes + rng.normal(0.5, 1.8, size=j) + quirks
    right = (rng.random((n, j)) < 1.0 / (1.0 + np.exp(-logits))).astype(float)
    copies = rng.choice(n, n // 10, replace=False)
    source = rng.choice(np.setdiff1d(np.arange(n), copies), copies.size)
    other = rng.random((copies.size, j)) < 0.05
    right[copies] = np.where(other, 1.0 - right[source], right[source])
    family[copies] = family[source]
    return pd.DataFrame(right, index=[f"family{f}-{k}" for k, f in enumerate(family)])


def tables(data: Path) -> Iterator[tuple[str, pd.DataFrame, pd.Series | None, int]]:
    """Yield name, scores, domains and repeats of each table."""
    yield "LiveBench", *livebench(data), 8
    yield "MMLU-Redux", *mmlu_redux(data), 20
    yield "simulated 320 x 735", simulated(320, 735, 1), None, 2
    yield "BRIDGE", *bridge(data), 3
    yield "simulated 90 x 5,000", simulated(90, 5000, 2), None, 4
    yield "MMLU-Pro", *mmlu_pro(data), 8


def parts(labels: list[str], kind: str, rng: np.random.Generator) -> np.ndarray:
    """Split models, or whole families of them, into parts of about equal size."""
    of = labels if kind == "models" else [maker_of(label) for label in labels]
    sizes = pd.Series(of).value_counts()
    filled, part = np.zeros(N_PARTS), {}
    for name in rng.permutation(sizes.index.to_numpy()):
        part[name] = int(filled.argmin())
        filled[part[name]] += sizes[name]
    return np.array([part[name] for name in of])


def maker_of(label: str) -> str:
    """Return the family of a real or a simulated model."""
    return label.split("-")[0] if label.startswith("family") else maker(label)


def run(
    data: Path, only: str | None, designs: tuple[str, ...], scale: float, *, stopped: bool
) -> None:
    """Replay every table, and write one row per table, dealing, part and design."""
    targets = [((), WIDTHS)] if stopped else [*(((n,), ()) for n in SIZES), ((), WIDTHS)]
    for name, scores, domains, repeats in tables(data):
        if only and only not in name:
            continue
        for kind in ("models", "families"):
            part = parts(list(scores.index), kind, np.random.default_rng(1))
            for k in range(N_PARTS):
                began = time.time()
                rows = replayed(
                    scores, domains, part == k, designs, max(1, int(repeats * scale)), targets
                )
                rows.insert(0, "table", name)
                rows.insert(1, "held_out", kind)
                rows.insert(2, "part", k)
                keep(rows)
                print(f"{name}, {kind}, part {k}: {time.time() - began:.0f} s", flush=True)


def keep(rows: pd.DataFrame) -> None:
    """Add rows to the CSV in place of those of the same runs; first come first in the tables."""
    runs = ["table", "held_out", "part", "design", "target"]
    if CSV.exists():
        old = pd.read_csv(CSV)
        again = pd.MultiIndex.from_frame(old[runs]).isin(pd.MultiIndex.from_frame(rows[runs]))
        order = pd.MultiIndex.from_frame(old[runs[:2]]).unique()
        rows = pd.concat([old[~again], rows], ignore_index=True)
        place = order.append(pd.MultiIndex.from_frame(rows[runs[:2]])).unique()
        rows = rows.iloc[
            np.argsort(place.get_indexer(pd.MultiIndex.from_frame(rows[runs[:2]])), kind="stable")
        ]
    rows.to_csv(CSV, index=False, float_format="%.4g")


def replayed(
    scores: pd.DataFrame,
    domains: pd.Series | None,
    out: np.ndarray,
    designs: tuple[str, ...],
    n_repeats: int,
    targets: list[tuple[tuple[int, ...], tuple[float, ...]]],
) -> pd.DataFrame:
    """Return each run, on some models, of a bank made without them."""
    known = scores[~out]
    known = known.loc[:, known.notna().any()]
    bank = psy.item_bank(
        known,
        families=[maker_of(label) for label in known.index],
        domains=None if domains is None else domains.reindex(known.columns).tolist(),
        rng=1,
    )
    held_out = scores.loc[out, known.columns]
    rows = []
    for sizes, widths in targets:
        # k-means with hundreds of clusters takes minutes, and most clusters are single questions.
        tried = [name for name in designs if name not in CLUSTERED or max(sizes, default=0) <= 100]
        try:
            found = psy.replay(
                bank,
                held_out,
                sizes=sizes,
                half_widths=widths,
                designs=tried,
                n_repeats=n_repeats,
                rng=1,
            )
        except psy.errors.OptionError:  # no model answered enough questions
            continue
        for row, (design, target) in enumerate(zip(found.design, found.target, strict=True)):
            error = found.estimates[row] - found.truth[:, None]
            holds = found.covered[row]
            rows += [
                {
                    "design": design,
                    "target": target,
                    "model": model,
                    "square": float((error[m] ** 2).mean()),
                    "bias": float(error[m].mean()),
                    "half_width": float(found.half_widths[row, m].mean()),
                    "covered": float(holds[m].mean()),
                    "asked": float(found.asked_each[row, m].mean()),
                    "bank": len(bank.questions),
                }
                for m, model in enumerate(found.models)
            ]
    return pd.DataFrame(rows)


def show() -> None:
    """Write the page of tables from the rows."""
    rows = pd.read_csv(CSV)
    lines = [
        "<!-- Made by validation/item_bank_replay.py: do not edit. -->",
        "",
        "The models of each table were divided into five parts at random (m) or by whole families "
        "(f); a bank made from four parts was replayed on the fifth. *Width* is the mean "
        "half-width of 95 % intervals in points of the score, followed by its ratio to that of a "
        "simple random sample of the same size; *covered* is the proportion of intervals that "
        "cover the true score; *bias* and *error* (root mean square) are in points.",
        "",
    ]
    grouped = rows.groupby(["table", "target", "held_out", "design"], sort=False)
    means = grouped[["square", "bias", "half_width", "covered", "asked"]].mean()
    spread = grouped[["bias", "covered"]].sem()
    for table in rows["table"].unique():
        lines += [
            f"## {table}",
            "",
            "| questions | design | held out | width | ratio | covered % | bias | error |",
            "|---|---|---|---|---|---|---|---|",
        ]
        for (name, target, kind, design), one in means.iterrows():
            if name != table:
                continue
            beside = means["half_width"].get((name, target, kind, "random"), np.nan)
            se = spread.loc[(name, target, kind, design)]
            asked = target.removesuffix(" questions")
            if target.startswith("half-width"):
                points = 100 * float(target.split()[1])
                asked = f"until ±{points:g}: {one['asked']:.0f}"
            lines.append(
                f"| {asked} | {design} | {kind[0]} | {cell(100 * one['half_width'], 2)} | "
                f"{cell(one['half_width'] / beside, 2)} | "
                f"{cell(100 * one['covered'], 1, 100 * se['covered'])} | "
                f"{cell(100 * one['bias'], 2, 100 * se['bias'])} | "
                f"{100 * np.sqrt(one['square']):.2f} |"
            )
        lines.append("")
    PAGE.write_text("\n".join(lines), encoding="utf-8")
    draw(rows)


def draw(rows: pd.DataFrame) -> None:
    """Draw half-widths over numbers of questions, a panel for each table."""
    import matplotlib.pyplot as plt

    names = list(rows["table"].unique())
    figure, panels = plt.subplots(
        2, -(-len(names) // 2), figsize=(9.0, 5.4), sharey=True, layout="constrained"
    )
    for panel in panels.flat[len(names) :]:
        panel.set_axis_off()
    for panel, name in zip(panels.flat, names, strict=False):
        own = rows[(rows["table"] == name) & rows["target"].str.endswith("questions")]
        for design, style, colour in (("bank", "-", "#0b6e99"), ("random", "--", "#777777")):
            means = own[own["design"] == design].groupby("asked")["half_width"].mean()
            panel.plot(means.index, 100 * means, style, color=colour, marker="o", ms=3.5)
        panel.axhline(3.0, color="#b3412f", lw=0.8)
        panel.axvline(0.15 * own["bank"].median(), color="#b3412f", lw=0.8, ls=":")
        panel.set(xscale="log", yscale="log", title=name)
        panel.set_xticks(SIZES[: means.size], [f"{n:,}" for n in SIZES[: means.size]])
        panel.minorticks_off()
        panel.set_yticks([1, 2, 3, 5, 10], ["1", "2", "3", "5", "10"])
    figure.supxlabel("questions asked")
    figure.supylabel("half-width of the 95 % interval (points)")
    FRONTIER.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(FRONTIER, dpi=110)


def cell(value: float, digits: int, se: float = np.nan) -> str:
    """Return a number with its standard error, a dash where there is none."""
    if not np.isfinite(value):
        return "–"
    return f"{value:.{digits}f}" + (f" ± {se:.{digits}f}" if np.isfinite(se) else "")


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("what", choices=("run", "show"))
    parser.add_argument("--data", type=Path, default=HERE.parents[1] / "shared" / "data")
    parser.add_argument("--only", help="tables whose name holds this")
    parser.add_argument("--designs", nargs="+", default=DESIGNS)
    parser.add_argument("--scale", type=float, default=1.0, help="of the repeats")
    parser.add_argument("--stopped", action="store_true", help="only sessions until a width")
    given = parser.parse_args()
    if given.what == "run":
        designs = ("bank",) if given.stopped else tuple(given.designs)
        run(given.data, given.only, designs, given.scale, stopped=given.stopped)
    show()


if __name__ == "__main__":
    main()
