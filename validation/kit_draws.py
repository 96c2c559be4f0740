"""How often intervals of shared confidence's kit miss: ``python -m validation.kit_draws 150``.

The kit is one draw of what models say; here are the first one, which it does not use, and others,
drawn without asking anybody.
"""

import argparse
import sys
import zlib
from importlib import import_module
from pathlib import Path

import numpy as np
from scipy.special import ndtr, ndtri

from psychollm.cli.run import staged_plan

HERE = Path(__file__).resolve().parents[1] / "examples" / "replicate"


def main(n: int) -> None:
    sys.path.insert(0, str(HERE))
    kit = import_module("endpoint").load("shared_confidence")
    plan = staged_plan("shared_confidence", HERE / "shared_confidence" / "plan.toml").plan
    prompts = [one for one in plan.prompts if one.about["part"] == "predict"]
    shared = np.array([kit.LOADING * kit.ease(one.item) for one in prompts])
    noise = np.sqrt(1.0 - kit.LOADING**2)
    missed = np.zeros(n, dtype=np.int64)
    for draw in range(n):
        begin = f"{draw}/" if draw else ""
        for one, rate in zip(plan.models, kit.RATES, strict=True):
            words = (f"{begin}{one.model}/{prompt.key}/0" for prompt in prompts)
            own = [np.random.default_rng(zlib.crc32(word.encode())).normal() for word in words]
            away = shared - ndtri(1.0 - rate)
            chance, yes = ndtr(away / noise), away + noise * np.array(own) > 0.0
            error = np.sqrt((chance * (1.0 - chance)).sum()) / yes.size
            missed[draw] += abs(yes.mean() - chance.mean()) > 1.96 * error
    share = missed[2:].mean() / len(plan.models)
    print(f"of {len(plan.models)} intervals miss: first draw {missed[0]}, the kit's {missed[1]}")
    print(f"{n - 2} others: {share:.1%}, {(missed[2:] >= missed[0]).sum()} as many as the first")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("draws", type=int, help="how many draws of the models' answers")
    main(parser.parse_args().draws)
