"""Predictions of held-out answers by other programs, for ``validation.prediction``.

Run it with the interpreter of an environment that has torch-measure, py-irt and mirt (PyPI):
``python prediction_peers.py TABLE.npz OUT.npz``. A program that is absent or fails is left out,
and its error is printed. Settings are the programs' defaults. Takes about one minute of CPU
for each table. The tables of ``validation.prediction`` contain the times.
"""

import argparse
import os
import sys
import time

import numpy as np


def torch_2pl(table):
    """Fit the 2PL of torch-measure, maximum likelihood."""
    from torch_measure.models import TwoPL

    return _torch(TwoPL(*table.shape), table)


def torch_factors(table):
    """Fit the logistic factor model of torch-measure, two factors."""
    from torch_measure.models import LogisticFM

    return _torch(LogisticFM(*table.shape, 2), table)


def _torch(model, table):
    import torch

    torch.manual_seed(0)
    table = np.where(np.isfinite(table), table >= 0.5, np.nan)  # 0 and 1 only
    model.fit(torch.tensor(table, dtype=torch.float32), verbose=False)
    rows, columns = np.indices(table.shape)
    query = {
        "subject_idx": torch.tensor(rows.ravel()),
        "item_idx": torch.tensor(columns.ravel()),
    }
    with torch.no_grad():
        return model.predict(query).numpy().reshape(table.shape).astype(float)


def mirt_2pl(table):
    """Fit the 2PL of mirt for Python, abilities by EAP."""
    import mirt

    codes = np.where(np.isfinite(table), table >= 0.5, -1).astype(int)
    varied = [len(set(column[column >= 0])) == 2 for column in codes.T]
    found = mirt.fit_mirt(codes[:, varied], compute_standard_errors=False)
    theta = np.asarray(mirt.fscores(found, codes[:, varied], method="EAP").theta).reshape(-1, 1)
    a = np.asarray(found.model.discrimination).reshape(-1)
    b = np.asarray(found.model.difficulty).reshape(-1)
    p = np.full(table.shape, np.nan)
    p[:, varied] = 1.0 / (1.0 + np.exp(-a * (theta - b)))
    return p


def pyirt_2pl(table):
    """Fit the 2PL of py-irt, variational."""
    import pandas as pd
    from py_irt.config import IrtConfig
    from py_irt.dataset import Dataset
    from py_irt.training import IrtModelTrainer

    names = [f"q{k}" for k in range(table.shape[1])]
    frame = pd.DataFrame(np.where(np.isfinite(table), table >= 0.5, np.nan), columns=names)
    frame.index = [f"m{k}" for k in range(len(frame))]
    frame = frame.dropna(axis=1, how="all")
    trainer = IrtModelTrainer(
        data_path=None,
        config=IrtConfig(model_type="2pl", seed=0),
        dataset=Dataset.from_pandas(frame),
        verbose=False,
    )
    trainer.train()
    best = trainer.best_params
    p = np.full(table.shape, np.nan)
    columns = [int(name[1:]) for name in best["item_ids"].values()]
    rows = [int(name[1:]) for name in best["subject_ids"].values()]
    z = np.asarray(best["disc"]) * (
        np.asarray(best["ability"])[:, None] - np.asarray(best["diff"])
    )
    p[np.ix_(rows, columns)] = 1.0 / (1.0 + np.exp(-z))
    return p


PEERS = {
    "torch-measure 2PL": torch_2pl,
    "torch-measure logistic factors": torch_factors,
    "mirt 2PL": mirt_2pl,
    "py-irt 2PL": pyirt_2pl,
}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("table")
    parser.add_argument("out")
    given = parser.parse_args()
    table = np.load(given.table)["table"]
    found = {}
    for name, fit in PEERS.items():
        start = time.process_time()
        try:
            found[name] = fit(table)
        except Exception as error:  # noqa: BLE001  a program of somebody else
            print(f"{name}: {type(error).__name__}: {error}", file=sys.stderr)
            continue
        found[f"{name}|seconds"] = np.array(time.process_time() - start)
    np.savez(given.out, **found)
    os._exit(0)  # some programs leave threads running
