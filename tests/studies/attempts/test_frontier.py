"""The frontier of cost and success."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import stdtrit

import psychollm as psy
from psychollm._base.errors import CodeError, LabelError, OptionError
from psychollm.data.logs import read_scores
from psychollm.estimates.reasons import Reason
from tests.studies.attempts.tables import COUNTS


def runs(chances, costs, *, n=60, seed=0):
    """Return counts of models with these chances; a task is as dear for all."""
    rng = np.random.default_rng(seed)
    dear = rng.lognormal(0.0, 0.5, n)
    return pd.concat(
        pd.DataFrame(
            {
                "model": name,
                "task": np.arange(n),
                "right": rng.binomial(4, chance, n),
                "tried": 4,
                "usd": cost * dear * rng.uniform(0.9, 1.1, n),
            }
        )
        for name, chance, cost in zip("abcdef", chances, costs, strict=False)
    )


def found_of(frame, **options):
    return psy.attempts(frame, **COUNTS, **{"cost": "usd", "k": (1, 3), "rng": 1, **options})


def test_means_and_who_is_beaten_are_those_of_plain_python():
    frame = runs([0.8, 0.6, 0.55, 0.4], [3.0, 1.0, 2.0, 0.5])
    found = found_of(frame).frontier()
    for row, name in enumerate(found.labels):
        own = frame[frame["model"] == name]
        assert found.spent.value[row] == pytest.approx(own["usd"].mean())
        assert found.score.value[row] == pytest.approx((own["right"] / 4).mean())
        others = frame[frame["model"] != name].groupby("model").mean(numeric_only=True)
        beaten = (others["right"] >= own["right"].mean()) & (others["usd"] <= own["usd"].mean())
        assert found.on_frontier[row] == (not beaten.any())
    assert found.on_frontier.tolist() == [True, True, False, True]
    assert found.beaten_by[:2] == ("–", "–")
    assert found.share[2] < 0.5 < 0.95 < found.share[1]


def test_a_model_that_is_worse_and_dearer_is_named_and_one_as_good_is_not():
    found = found_of(runs([0.8, 0.4, 0.8], [1.0, 3.0, 1.0])).frontier()
    assert found.beaten_by[1] in {"a", "c"}
    assert (found.beaten_by[0], found.beaten_by[2]) == ("–", "–")
    assert 0.05 < found.share[0] < 0.95


def test_false_claims_are_rare():
    """Three models are alike: at most 5 % of tables may name one as beaten."""
    wrong = sum(
        any(one != "–" for one in found_of(runs([0.5] * 3, [1.0] * 3, seed=seed)).frontier(
            bootstrap=2).beaten_by)
        for seed in range(20)
    )  # fmt: skip
    assert wrong <= 2


def test_clusters_widen_and_other_quantities_count():
    frame = runs([0.8, 0.5], [2.0, 1.0])
    clustered = found_of(frame, clusters=np.repeat(np.arange(12), 5)).frontier(quantity="pass^3")
    assert clustered.score.name == "pass^3"
    assert (clustered.spent.interval[:, 0] < clustered.spent.value).all()
    with pytest.raises(OptionError, match="quantity='pass@9' is unknown: use one of 'pass@1'"):
        found_of(frame).frontier(quantity="pass@9")
    with pytest.raises(OptionError, match="of='seconds' is unknown: use one of 'cost'"):
        found_of(frame).frontier("seconds")
    with pytest.raises(OptionError, match="pass cost= or seconds="):
        found_of(frame, cost=None).frontier()


def test_unknown_costs_have_a_reason():
    frame = runs([0.8, 0.5], [2.0, 1.0])
    frame.loc[frame["model"] == "b", "usd"] = np.nan
    found = found_of(frame).frontier()
    assert found.spent.flags[1] is Reason.NO_COST
    assert np.isnan(found.share[1])
    assert found.on_frontier.tolist() == [True, False]


def test_costs_that_are_none_are_refused():
    frame = runs([0.8, 0.5], [2.0, 1.0])
    with pytest.raises(LabelError, match="no column 'eur'"):
        found_of(frame, cost="eur")
    with pytest.raises(CodeError, match="costs and times must be at least 0"):
        found_of(frame.assign(usd="much"))
    with pytest.raises(CodeError, match=r"contains '-1\.0'"):
        found_of(frame.assign(usd=-1.0))


def test_costs_of_logs_and_a_row_for_each_attempt(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(
        "model,question,repeat,score,tokens\na,q,1,1,10\na,q,2,0,30\na,r,1,1,\na,r,2,1,5\n"
    )
    of_log = psy.attempts(read_scores(path, keep=["tokens"]), cost="tokens", k=1, rng=1)
    of_table = psy.attempts(pd.read_csv(path), cost="tokens", k=1, rng=1)
    for found in (of_log, of_table):
        assert found.spent["cost"].tolist() == [[20.0, 5.0]]
        assert found.frontier().spent.value.tolist() == [12.5]


def test_fields_of_logs_with_times_and_costs(tmp_path):
    import json

    usage = {"m": {"total_tokens": 7, "total_cost": 0.5}, "judge": {"total_tokens": 3}}
    about = {"task": "t", "task_id": "t", "model": "m"}
    sample = {"id": "q", "scores": {"s": {"value": "C"}}, "total_time": 2.5, "model_usage": usage}
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"eval": about, "samples": [sample]}))
    kept = read_scores(path, keep=["seconds", "tokens"]).frame
    assert kept[["seconds", "tokens"]].to_numpy().tolist() == [["2.5", "10.0"]]
    with pytest.raises(LabelError, match="no such column or field"):
        read_scores(path, keep=["cost"])  # one of the models has no price


def test_the_page_and_the_summary_show_the_frontier(tmp_path):
    pytest.importorskip("matplotlib")
    found = found_of(runs([0.8, 0.4, 0.6], [2.0, 3.0, 1.0]))
    assert "On the frontier of cost and pass@1: c and a." in found.summary().replace("\n  ", " ")
    assert "significantly worse in cost and success" in found.summary().replace("\n  ", " ")
    found.report(tmp_path / "a.html")
    assert "Success and cost of one attempt" in (tmp_path / "a.html").read_text("utf-8")


def test_the_card_holds_attempts():
    rng = np.random.default_rng(0)
    tries = (rng.random((3, 50, 3)) < np.array([0.8, 0.6, 0.4])[:, None, None]).astype(int)
    card = psy.evaluation_card(tries, attempts=(1, 3), rng=1)
    assert card.attempts.pass_hat_k[3].value[0] == pytest.approx(tries[0].all(axis=1).mean())
    assert "How often do repeated attempts succeed?" in card.summary()
    assert "attempts" in card.tables()
    assert psy.evaluation_card(tries, rng=1).attempts is None
    with pytest.raises(OptionError, match="cost and seconds need attempts"):
        psy.evaluation_card(tries, cost="usd")


def test_intervals_of_costs_use_the_upper_half_of_the_logarithms():
    cost = np.array([0.0, 0.5, 1.0, 4.0, 20.0])
    frame = pd.DataFrame({"model": "a", "task": range(5), "right": 2, "tried": 4, "usd": cost})
    found = found_of(pd.concat([frame, frame.assign(model="b", usd=cost + 100.0)])).frontier()
    v = 2.0 * np.sum(np.log([4.0, 20.0]) ** 2) / 4.0
    error = np.sqrt((v + v**2 / 2.0) / 5.0)
    expected = 5.1 * np.exp(stdtrit(4.0, 0.975) * error * np.array([-1.0, 1.0]))
    assert found.spent.interval[0] == pytest.approx(expected)
