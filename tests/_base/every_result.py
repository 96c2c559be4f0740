"""One of each result: what the examples in the docstrings make, and a few made here."""

import contextlib
import dataclasses
import doctest
import importlib
import io
import pkgutil
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import psychollm as psy
from psychollm._base.result import Result

PACKAGE = Path(psy.__file__).parent
# A function of a module, formatted, and what it returns: a tenth of the time that parsing takes.
_HEAD = re.compile(
    r"^(?:async )?def (\w+)\((?:[^\n]*|\n[^\n]+(?:\n[^\n]+)*?\n)\)"
    r" -> ([^\n:]+):(?: [^\n]*)?$",
    re.MULTILINE,
)

# Whose docstrings make a result of each class, in their own fields or on the way: names, with as
# much of the module in front as tells them apart, and a method behind two colons.
EXAMPLES = (
    "abstention_by",
    "abstention_skill",
    "adaptive_test",
    "AlphaParts",
    "andersen_test",
    "AnswerLogits",
    "AnswerVariance",
    "arms.answered",
    "Attempts::foretell",
    "BenchmarkAgreement",
    "BetweenModels",
    "bootstrap_fit",
    "boundary_profile",
    "CalibrationPanel::curves",
    "class_shares",
    "CoderAgreement",
    "Collection",
    "alignment.align",
    "compare_all",
    "ComparisonPower",
    "conditional_rasch",
    "ConfidenceGate",
    "confidence_information",
    "congruence",
    "beside_people",
    "Control",
    "Cox",
    "CrossedLogistic",
    "decision_study",
    "DateChange",
    "Deployment",
    "differential_functioning",
    "differential_items",
    "Difficulty",
    "DifficultyEffect",
    "DirectionScan",
    "DoseResponse",
    "EvaluationCard",
    "early_exit",
    "JointCovariance::wald",
    "effects.Revision",
    "EfficacyLink",
    "ensemble_gain",
    "GroupFactors::score_tests",
    "f_beta",
    "factor_scores",
    "FactorEffect",
    "fit_irt_groups",
    "fit_multidimensional",
    "Frontier",
    "Gate",
    "GateFit",
    "grim",
    "HierarchicalMetaD",
    "HorizonTrend",
    "individuation",
    "information.information",
    "instrument.Abstention::score",
    "intraclass",
    "ItemBank::full_score",
    "ItemBank::plan",
    "item_fit",
    "item_screen",
    "item_slopes",
    "item_statistics",
    "JudgedScores",
    "LabelPlan",
    "LayerScan",
    "link_scales",
    "loading_errors",
    "local_dependence",
    "logistic.logistic",
    "martin_loef_test",
    "max_t",
    "measurement_invariance",
    "meta_d",
    "meta_information",
    "model_fit",
    "murphy",
    "Omega::summary",
    "omega_of_loadings",
    "Overconfidence",
    "pair_residuals",
    "pairwise_calibration",
    "exploratory_pairwise_likelihood",
    "PairwiseConditions",
    "person_fit",
    "plot_calibration_panel",
    "plot_factor_structure",
    "plot_retention",
    "plot_second_factor",
    "plot_semantic_calibration",
    "plot_sensitivity",
    "polyserial",
    "predictive_check",
    "preview",
    "principal_component",
    "private_signal",
    "probe_transfer",
    "question_scores",
    "rate_confidence",
    "RaterSeverity",
    "read_logs",
    "Readings::pooled_scores",
    "Reconstruction",
    "reliability_curve",
    "ReplyLikelihood",
    "ResidualStructure",
    "ResponseShares",
    "RevisionSkill",
    "sample_curve",
    "SamplingAdequacy",
    "scaffolding",
    "score_differences",
    "selective_prediction",
    "self_efficacy",
    "SelfPredictionScores::failures",
    "semantic_mechanism",
    "SemanticSampling::score",
    "short_form",
    "SignalDetection",
    "slope_null",
    "smooth",
    "spectrum",
    "spiegelhalter_of",
    "split_half",
    "state_probe",
    "SteeredAnswers::from_array",
    "StitchedBenchmarks::forecast",
    "StructureContrast",
    "tetrachoric_table",
    "ThinkingContrast",
    "thresholds.thresholds",
    "validity_screen",
    "RevisionScores::voting",
    "Words",
)

# No function returns one of these: classes made from them are covered.
BASES = {
    "CalibratedQuestions": "base of the item bank",
    "CalibrationError": "base of the binned and the smooth one",
    "PartScores": "base of the scores of questions in parts",
    "Scores": "base of the scores of instruments",
    "ScanLabels": "what a scan keeps in its folder: tests/data/test_scan.py",
    "Scan": "responses in a folder: tests/data/test_scan.py",
}

# Made with scikit-learn alone, which only the extra `text` brings.
PROBES = () if find_spec("sklearn") else ("ClassShares", "ProbeTransfer", "StateProbe")


def _foreknowledge() -> Result:
    from psychollm.calibration.sampled.self_knowledge import PredictedCorrectness
    from psychollm.estimates.reasons import Reason

    return PredictedCorrectness(
        confidence=np.array([[0.25, np.nan]]),
        baseline=np.array([[0.5, 0.5]]),
        fold=np.array([0, 1]),
        n_folds=2,
        penalty=1.0,
        flags=(Reason.NONE,),
        models=("m",),
        questions=("a", "b"),
    )


def _shared_confidence() -> Result:
    from psychollm.data.simulate_study import simulate_study

    made = simulate_study(n_models=6, n_questions=200, rng=0)
    return psy.shared_confidence(made.confidence, made.correctness, n_null=19, bootstrap=19, rng=1)


def _lapses() -> Result:
    from psychollm.studies.dimensionality.lapse_tests import WithLapses

    rng = np.random.default_rng(4)
    latent = 0.9 * rng.normal(size=1500) + 0.4 * rng.normal(size=(8, 1500))
    yes = latent > np.linspace(-1.2, 1.2, 8)[:, None]
    yes = np.where(rng.random(yes.shape) < 0.05, rng.random(yes.shape) < 0.5, yes)
    found = psy.dimensionality(yes.astype(int), n_null=19, alpha=0.1, rng=1).with_lapses
    assert isinstance(found, WithLapses)
    return found


def _confirmatory() -> tuple[Result, ...]:
    from psychollm.factor.confirmatory import confirmatory_factors

    rng = np.random.default_rng(1)
    latent = 0.8 * rng.normal(size=400) + 0.6 * rng.normal(size=(5, 400))
    answers = psy.polychoric(np.digitize(latent, [-0.5, 0.5]))
    found = confirmatory_factors(answers, {"ability": range(5)})
    return found, found.modification_indices()


def _factors() -> tuple[Result, ...]:
    from psychollm.irt.factors.fit import fit_factors

    rng = np.random.default_rng(2)
    answers = (rng.normal(size=(12, 1)) + rng.normal(size=(12, 90)) > 0.0).astype(float)
    answers[rng.random(answers.shape) < 0.3] = np.nan
    chosen = fit_factors(answers, "auto", rng=0)
    modelled = fit_factors(answers, 1, gaps="modelled", rng=0)
    return tuple(one for one in (chosen, chosen.choice, modelled.gaps) if one is not None)


MAKERS: tuple[Callable[[], Any], ...] = (
    _foreknowledge,
    _shared_confidence,
    _lapses,
    _confirmatory,
    _factors,
)


def every_class() -> dict[str, type[Result]]:
    """Return the results of the library by name."""
    for module in pkgutil.walk_packages(psy.__path__, "psychollm."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    found = {}
    for kind in _below(Result):
        # A dataclass with slots leaves the class it was made from behind.
        home = sys.modules[kind.__module__]
        if home.__name__.startswith("psychollm.") and getattr(home, kind.__name__, None) is kind:
            assert kind.__name__ not in found, f"two results are called {kind.__name__}"
            found[kind.__name__] = kind
    return found


def _below(kind: type) -> Iterator[type]:
    for one in kind.__subclasses__():
        yield one
        yield from _below(one)


def every_result(folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, list[Result]]:
    """Return results by the name of their class: the first and the last that were made."""
    made: dict[str, list[Result]] = {}
    seen: dict[int, Any] = {}
    after = Result.__post_init__

    def noted(self: Result) -> None:
        after(self)
        made.setdefault(type(self).__name__, []).append(self)

    with monkeypatch.context() as patch:
        patch.setattr(Result, "__post_init__", noted)
        for name in EXAMPLES:
            for value in _run(name, folder).values():
                _collect(value, made, seen)
        for make in MAKERS:
            _collect(make(), made, seen)
        for name in sorted(set(every_class()) - set(made) - set(BASES) - set(PROBES)):
            for maker in _returning(name):
                if name not in made:
                    _collect(tuple(_run(maker, folder).values()), made, seen)
    return {
        name: list({id(one): one for one in (all_[0], all_[-1])}.values())
        for name, all_ in made.items()
    }


def _collect(value: Any, made: dict[str, list[Result]], seen: dict[int, Any]) -> None:
    """Note results in results: a class with a `__post_init__` of its own may hide from `noted`."""
    if id(value) in seen or isinstance(value, type):
        return
    seen[id(value)] = value
    if isinstance(value, Result):
        made.setdefault(type(value).__name__, []).append(value)
    if dataclasses.is_dataclass(value):
        parts: Any = [getattr(value, field.name) for field in dataclasses.fields(value)]
    elif isinstance(value, Mapping):
        parts = value.values()
    else:
        parts = value if isinstance(value, tuple | list) else ()
    for part in parts:
        _collect(part, made, seen)


def _run(name: str, folder: Path) -> dict[str, Any]:
    """Run the example in one docstring and return the names that it leaves."""
    owner, _, method = name.partition("::")
    (home,) = [one for one in _defined() if f".{one}".endswith(f".{owner}")]
    module = importlib.import_module(home.rpartition(".")[0])
    held = getattr(module, home.rpartition(".")[2])
    held = getattr(held, method) if method else held
    names = {**vars(module), "getfixture": lambda _: folder}
    examples = doctest.DocTestFinder(recurse=False).find(held, name, module, globs=names)
    if not examples:
        return {}
    example = examples[0]
    before = dict(example.globs)
    runner = doctest.DocTestRunner(
        optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS, verbose=False
    )
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what an example may warn of is tried elsewhere
        runner.run(example, out=lambda _: None, clear_globs=False)
    return {key: one for key, one in example.globs.items() if before.get(key) is not one}


@cache
def _defined() -> tuple[str, ...]:
    """Return the dotted names of all functions and classes, from the sources."""
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        module = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
        names = re.findall(r"^(?:class|def) (\w+)", path.read_text("utf-8"), re.MULTILINE)
        found += [f"{module}.{name}" for name in names]
    return tuple(found)


def _returning(name: str) -> list[str]:
    """Return a class, and functions that say they return it: makers of what `EXAMPLES` lacks."""
    found = [one for one in _defined() if one.endswith(f".{name}")]
    return found + [one for one, said in _returns() if said == name]


@cache
def _returns() -> tuple[tuple[str, str], ...]:
    """Return the dotted names of all functions of modules with what they return, as written."""
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        module = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
        heads = _HEAD.findall(path.read_text("utf-8"))
        found += [(f"{module}.{name}", said.strip("\"'")) for name, said in heads]
    return tuple(found)
