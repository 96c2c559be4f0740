"""What psychollm writes as records of Every Eval Ever, read back as logs."""

import numpy as np

from psychollm.collect.client import collect
from psychollm.collect.eval_records import every_eval_ever
from psychollm.collect.export import to_frame
from psychollm.collect.roster import Model
from psychollm.collect.store import Store
from psychollm.data.logs import read_logs
from tests.collect.hostile import Hostile


def test_there_and_back(make_plan, tmp_path):
    """Two configurations of one model, one graded in halves; repeats; a reply without a grade."""
    models = tuple(
        Model(name=name, endpoint="here", model="plain", parameters={"temperature": heat})
        for name, heat in (("cold", 0.0), ("hot", 1.0))
    )
    with Hostile() as server:
        plan = make_plan(server.url, 3, models=models, repeats=2)
        collect(plan)
    with Store(plan.store) as store:
        table = to_frame(store)
        right = (table["item"] != "q1").astype(float).where(table["model"] == "cold", 0.5)
        grades = dict(zip(table["key"], right, strict=True))
        last = table[(table["model"] == "hot") & (table["item"] == "q2")]
        grades = {key: grade for key, grade in grades.items() if key not in set(last["key"])}
        every_eval_ever(store, tmp_path, name="quiz", grades=grades)
    found = read_logs(tmp_path / "data", repeats="mean", threshold=0.5, strict=False)
    table = found.responses.select(models=["cold", "hot"], questions=["q0", "q1", "q2"])
    np.testing.assert_array_equal(table.values, [[1, 0, 1], [1, 1, np.nan]])
    assert found.scorers == {"quiz": "grade"}
    assert len(found.frame) == 10
