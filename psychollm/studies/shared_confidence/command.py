"""Run `psychollm study` on two tables, or on replies to self-prediction prompts."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from psychollm.cli.carry_out import Found, records
from psychollm.cli.two_tables import Tables

if TYPE_CHECKING:
    from psychollm.cli.study import OfTables
    from psychollm.collect.readings import Readings
    from psychollm.data.responses import Responses
    from psychollm.estimates.verdict import SmallestEffects
    from psychollm.studies.shared_confidence.result import SharedConfidence

_CODE = """\
from pathlib import Path
from psychollm.instruments.self_prediction import confidence_and_correctness

with psy.collect.Store(Path({path!r})) as store:
    said = psy.collect.readings(store, instrument="self_prediction"{arm})
confidence, correctness = confidence_and_correctness(said.pooled_scores(){repeats})"""


def judged(command: "OfTables", tables: "Tables[Responses]", asked: str = "") -> Found:
    """Return the study of two tables; `asked` is Python code for prompts shown to people."""
    if tables.groups is not None:
        return _judged_by(command, tables, tables.groups[1])
    from psychollm.studies.shared_confidence.study import shared_confidence

    study = shared_confidence(
        tables.confidence,
        tables.correctness,
        empty_cells=command.empty_cells,
        missing=command.thresholds,
        screen="drop" if command.drop_unusable else "flag",
        n_null=command.null,
        **command.replication,
    )
    numbers = _results(study, tables.source, command.smallest)
    numbers["simulated"] = study.simulated or command.simulated
    code = "\n".join(filter(None, (tables.code, command.people_code(asked))))
    script = f"{code}\nstudy = {study.call}"
    found = command.of_study(study, script, numbers, remark=tables.left_out)
    return replace(
        found,
        in_files=found.tables().keys() - {"models", "screen"},
        page=command.page_of(study, code),
    )


def _judged_by(command: "OfTables", tables: "Tables[Responses]", groups: Sequence[Any]) -> Found:
    """Return the study of each group of questions, and the test of one factor for all groups."""
    from psychollm.studies.shared_confidence.by_groups import shared_confidence_by

    study = shared_confidence_by(
        tables.confidence,
        tables.correctness,
        groups,
        empty_cells=command.empty_cells,
        missing=command.thresholds,
        screen="drop" if command.drop_unusable else "flag",
        n_null=command.null,
        **command.replication,
    )
    numbers = {
        "verdict": study.findings(smallest=command.smallest).verdict,
        "one_factor": study.common
        and {
            "p": study.common.test.p_value,
            **_fields(study.common, ("df", "rmsea", "rmsea_interval", "scale", "groups")),
        },
        "studies": {
            str(group): _results(one, tables.source, command.smallest)
            for group, one in study.results.items()
        },
        "source": list(tables.source),
        "simulated": command.simulated or all(one.simulated for one in study.results.values()),
        "level": command.level,
        "seed": study.seed,
    }
    script = f"{tables.code}\nstudy = psy.{study.call}"
    found = command.of_study(study, script, numbers, remark=tables.left_out)
    return replace(found, page=command.page_of(study, tables.code))


def _results(
    study: "SharedConfidence", source: Sequence[str], smallest: "SmallestEffects"
) -> dict[str, Any]:
    """Return a study as plain data: findings first, then the tables by model."""
    from psychollm.studies.shared_confidence.result import verdict

    dimensions = study.dimensionality
    lapses = dimensions.with_lapses
    return {
        "verdict": verdict(study, smallest),
        "n_factors": dimensions.n_factors,
        "n_models": len(study.labels),
        "n_questions": study.n_questions,
        "level": study.level,
        "dimensionality": {
            "verdict": dimensions.verdict,
            "shared_p": dimensions.shared_test.p_value,
            "one_factor_p": dimensions.one_factor_test.p_value,
            "second_share": dimensions.second_share.observed,
            "second_share_p": dimensions.second_share.p_value,
            "one_factor_model": dimensions.one_factor_model,
            "with_lapses": lapses
            and {
                "one_factor_p": lapses.p_value,
                "second_share": lapses.second_share.observed,
                "second_share_p": lapses.second_share.p_value,
                "two_factors": {
                    "log_likelihood_difference": lapses.two_factors.difference.value[0],
                    "interval": lapses.two_factors.difference.interval[0],
                },
                "models": records(lapses.fit.to_frame()),
            },
            "eigenvalue_shares": dimensions.spectrum.shares,
            "n_empty_pairs": dimensions.spectrum.n_empty,
            "min_eigenvalue": dimensions.spectrum.min_eigenvalue,
            "quadratic_r2": dimensions.spectrum.quadratic_r2.observed,
            "quadratic_r2_p": dimensions.spectrum.quadratic_r2.p_value,
            "second_congruence": dimensions.spectrum.congruence,
            "factors_by_rule": dict(dimensions.factors_by_rule),
        },
        "private_signal": _fields(
            study.private_signal, ("mean", "mean_interval", "mean_p", "n_models", "adjustment")
        ),
        "individuation_average": records(study.individuation.average.to_frame()),
        "between_models": records(study.between.to_frame()),
        "f_beta_leaders": records(study.f_beta.leaders_frame()),
        "pairwise_calibration": _fields(
            study.pairwise,
            (
                "pooled_difference",
                "pooled_difference_interval",
                "pooled_expected",
                "pooled_excess",
                "pooled_excess_interval",
                "n_disagreements",
                "n_questions_split",
            ),
        ),
        "ensemble": _fields(
            study.ensemble,
            (
                "mean_gain",
                "mean_gain_interval",
                "mean_gain_at_equal_rate",
                "mean_gain_at_equal_rate_interval",
            ),
        ),
        "dropped": dict(study.dropped),
        "uncorrelated": dict(study.uncorrelated),
        "source": list(source),
        "coding": dict(study.coding),
        "seed": study.seed,
    }


def _fields(result: Any, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: getattr(result, name) for name in names}


def _of_predictions(command: "OfTables", readings: "Readings") -> Callable[[], Found]:
    """Return a function that studies the models' self-predictions and their correctness."""
    from psychollm.instruments.self_prediction import confidence_and_correctness

    both = confidence_and_correctness(readings.pooled_scores(), repeats=command.repeats)
    given = "" if command.repeats == "error" else f", repeats={command.repeats!r}"
    path = str(command.inputs[0])
    code = _CODE.format(path=path, repeats=given, arm=command.arm_code)
    command = command.with_people(one for own in readings.prompts.values() for one in own)
    asked = "sum(said.prompts.values(), ())"
    return partial(judged, command, command.reduced(Tables(*both, (path,), code)), asked)


STORES = {"self_prediction": _of_predictions}
