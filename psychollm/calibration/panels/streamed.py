"""A panel of more answers than fit into memory: a few models at a time, on the same resamples."""

from collections.abc import Sequence
from contextlib import closing
from copy import deepcopy
from dataclasses import replace
from functools import partial

from psychollm._base.checks import check_generator
from psychollm._base.replicate import in_turn, progress_bar, replicate_seeds, workers
from psychollm.calibration.metric import Metric, estimate_all
from psychollm.calibration.stated_scan import StatedScan
from psychollm.estimates.estimate import Estimate, joined
from psychollm.estimates.resampling import KeptCounts, Resampling

DRAWS_BYTES = 256_000_000


def streamed_estimates(
    metrics: Sequence[Metric], scan: StatedScan, options: Resampling
) -> list[Estimate]:
    """Estimate metrics for every model of a scan, as `estimate_all` does for tables."""
    numbers = sum(len(metric.names) for metric in metrics)
    task = partial(
        _of_block,
        metrics=metrics,
        scan=scan,
        counts=KeptCounts(len(scan.questions), scan.clusters, options.n),
        keep=8 * numbers * options.n * len(scan.models) <= DRAWS_BYTES,
    )
    generator = check_generator(options.rng)
    inner = replace(options, n_jobs=1, progress=False)
    pieces = [(block, replace(inner, rng=deepcopy(generator))) for block in scan.blocks()]
    replicate_seeds(0, generator)  # whoever passed it finds it as after any other panel
    bar = progress_bar(show=options.progress, total=len(scan.models), label="models")
    blocks = []
    with closing(in_turn(task, pieces, workers(options.n_jobs), waiting=2)) as results:
        for estimates in results:
            blocks.append(estimates)
            bar.update(len(estimates[0].labels))
    bar.close()
    return [joined(parts) for parts in zip(*blocks, strict=True)]


def _of_block(
    piece: tuple[tuple[int, int], Resampling],
    *,
    metrics: Sequence[Metric],
    scan: StatedScan,
    counts: KeptCounts,
    keep: bool,
) -> list[Estimate]:
    """Estimate metrics for the models of a block."""
    (low, high), options = piece
    answers = scan.answers(low, high)
    estimates = estimate_all(metrics, answers, options, counts=counts)
    return estimates if keep else [replace(one, _draws=None) for one in estimates]
