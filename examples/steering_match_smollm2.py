"""Match a real steered model to targets: ``python examples/steering_match_smollm2.py OUT``.

The script needs no torch.

OUT is the folder that ``steering_smollm2.py`` wrote. The steered model is matched to two sets of
targets: the respondents of the example ``smollm2`` (the same model under other system prompts and
temperatures), and simulated targets. The common factor of the simulated targets correlates .9 with
the unsteered order of the questions; loadings are .74 and yes rates .08 to .92.
"""

import argparse
from pathlib import Path

import numpy as np
from scipy.special import ndtri

import psychollm as psy
from psychollm.data.responses import Responses
from psychollm.steering import DoseResponse
from psychollm.studies import steering_match

RATES = np.linspace(0.08, 0.92, 19)
SHARED, LOADING = 0.9, 0.74


def shipped(questions: tuple[str, ...]) -> Responses:
    """Return the recorded answers of respondents that gave both yes and no."""
    answers = psy.load_example("smollm2").confidence.select(questions=list(questions))
    known = ~answers.missing
    rates = (answers.codes * known).sum(axis=1) / known.sum(axis=1).clip(1)
    both = (rates > 0.02) & (rates < 0.98)
    return answers.select(models=[answers.models[i] for i in np.flatnonzero(both)])


def simulated(base: np.ndarray, questions: tuple[str, ...]) -> Responses:
    """Return targets with one factor, correlated with the unsteered order of the questions."""
    rng = np.random.default_rng(4)
    ranks = (base.argsort().argsort() + 0.5) / base.size
    factor = SHARED * ndtri(ranks) + np.sqrt(1 - SHARED**2) * rng.normal(size=base.size)
    own = rng.normal(size=(RATES.size, base.size))
    latent = LOADING * factor + np.sqrt(1 - LOADING**2) * own
    return Responses(
        (latent > ndtri(1 - RATES)[:, None]).astype(int),
        models=[f"target {rate:.2f}" for rate in RATES],
        questions=list(questions),
    )


def main(out: Path) -> None:
    """Print the results for both sets of targets, and write them next to the sweeps."""
    found = DoseResponse.load(out / "found.psy")
    controls = {
        path.stem.removeprefix("control_").replace("_", " "): DoseResponse.load(path)
        for path in sorted(out.glob("control_*.psy"))
    }
    sets = {
        "shipped": shipped(found.labels),
        "simulated": simulated(found.base_margin, found.labels),
    }
    for name, targets in sets.items():
        study = steering_match(found, targets, controls=controls, n_null=199, rng=0)
        print(f"\n== {name}: {targets.n_models} targets, layer {found.layer}")
        print(study.summary())
        print(study.controls_frame().round(3).to_string())
        study.to_frame().to_csv(out / f"match_{name}.csv", index=False)
        study.controls_frame().to_csv(out / f"match_{name}_controls.csv", index=False)
        study.plot().savefig(out / f"match_{name}.png", dpi=150)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("out", type=Path, metavar="OUT")
    main(parser.parse_args().out)
