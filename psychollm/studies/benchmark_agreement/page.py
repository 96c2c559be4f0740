"""Report page on the agreement of two benchmarks."""

from typing import TYPE_CHECKING

from psychollm._base.numbers import count, number
from psychollm.estimates.layout import Fact, Layout
from psychollm.estimates.references import cite
from psychollm.estimates.verdict import SmallestEffects

if TYPE_CHECKING:
    from psychollm.studies.benchmark_agreement.study import BenchmarkAgreement


SCALES = {True: "log odds", False: "raw scores"}


def _methods(result: "BenchmarkAgreement") -> tuple[str, ...]:
    scales = {name: SCALES[odds] for name, odds in zip(result.names, result.log_odds, strict=True)}
    on = " and ".join(f"{name} as {scale}" for name, scale in scales.items())
    if len(set(scales.values())) == 1:
        on = f"as {SCALES[result.log_odds[0]]}"
    return (
        "The true scores of models in both benchmarks are assumed bivariate normal. The "
        "correlation of true scores is estimated by restricted maximum likelihood from the "
        f"scores and their sampling errors {cite('spearman')}; scores are compared {on}.",
        "The interval uses the profile likelihood with a quantile of Student's t in place of the "
        "chi-square quantile, which gives correct coverage with few models.",
        "Sampling errors are computed over questions or clusters, with the CR2 correction for "
        f"few clusters {cite('miller', 'bell')}. Sampling errors exclude the difficulty of the "
        "sampled questions, which affects all models equally.",
        "Kendall's tau and the proportion of pairs in opposite order are computed from the "
        f"correlation {cite('kruskal')}.",
        "A pair of models is reversed if its score differences in the two benchmarks are "
        "simultaneously significant and of opposite sign.",
    )


def _facts(result: "BenchmarkAgreement", smallest: SmallestEffects) -> tuple[Fact, ...]:
    found = result.agreement
    return (
        Fact(name="True correlation", value=found.text(0)),
        Fact(
            name="Observed rank correlation",
            value=number(result.rank_correlation),
            detail=f"{number(result.ceiling)} expected with sampling noise alone",
        ),
        Fact(
            name="Reversed pairs", value=count(float(result.reversed.sum())), detail="significant"
        ),
    )


LAYOUT = Layout(
    title="Do two benchmarks rank models alike?",
    facts=_facts,
    methods=_methods,
    call=lambda result, source, options: (
        source or "result = psy.benchmark_agreement(first, second, rng=1)"
    ),
)

PAGES = {"BenchmarkAgreement": LAYOUT}
