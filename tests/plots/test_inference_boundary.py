"""How models fail at rule worlds, drawn."""

import pandas as pd
from matplotlib.figure import Figure

from psychollm.plots.inference_boundary import plot_failures
from psychollm.studies.inference_boundary.study import inference_boundary


def test_a_failure_has_one_colour_in_all_types() -> None:
    said = ["gap", "misread", "silent"] * 4  # of type A nobody misreads
    table = pd.DataFrame(
        {
            "model": "m",
            "type": ["A"] * 12 + ["C"] * 12,
            "item": range(24),
            "run": 1,
            "response": [word.replace("misread", "right") for word in said] + said,
            "score": [0, 1, 0] * 4 + [0] * 12,
        }
    )
    study = inference_boundary(table, bootstrap=200, rng=0)
    drawn = []
    for kind in ("A", "C"):
        ax = plot_failures(study, kind=kind, ax=Figure().subplots())
        bars, names = ax.get_legend_handles_labels()
        drawn.append({name: bar[0].get_facecolor() for name, bar in zip(names, bars, strict=True)})
    of_a, of_c = drawn
    assert of_a == {name: of_c[name] for name in ("gap", "silent")}
    assert len(set(of_c.values())) == 3
