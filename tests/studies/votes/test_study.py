"""Votes on pairs of models: what other programs find, all shapes of tables, and limits."""

import json

import numpy as np
import pandas as pd
import pytest

import psychollm as psy
from psychollm._base.errors import CodeError, InputError, LabelError, OptionError, ShapeError
from psychollm.cli import main
from psychollm.data.votes import are_votes
from psychollm.estimates.reasons import Reason
from tests.studies.votes.tables import drawn

COLUMNS = [
    "model", "strength", "se", "lower", "upper", "rank", "rank_lower", "rank_upper", "tier",
    "n_votes",
]  # fmt: skip
NAMED = {"left": "left", "right": "right", "winner": "winner"}


@pytest.fixture(scope="module")
def votes():
    return drawn()


@pytest.fixture(scope="module")
def found(votes):
    return psy.bradley_terry(votes, **NAMED, voter="worker", rng=1)


def test_the_table_has_the_columns_that_other_programs_call(found):
    frame = found.to_frame()
    assert [*frame.columns] == COLUMNS
    assert frame["model"].tolist() == ["m0", "m1", "m2", "m3", "m4"]
    assert (frame["rank_lower"] <= frame["rank"]).all()
    assert (frame["rank"] <= frame["rank_upper"]).all()
    assert frame["n_votes"].sum() == 2 * 600
    assert abs(frame["strength"].mean()) < 1e-9


def test_one_who_always_takes_the_left_has_a_side(found):
    frame = found.voters.to_frame().set_index("voter")
    assert frame["side"].idxmax() == 3
    assert found.side.value[0] < 1.0


def test_chances_add_up_and_know_voters(found):
    chance = found.predict(["m0", "m0", "m4"], ["m4", "m4", "m0"], [3, "new", None])
    assert chance.shape == (3, 3)
    np.testing.assert_allclose(chance.sum(axis=1), 1.0)
    assert chance[0, 0] > chance[1, 0] > chance[2, 0]


@pytest.mark.parametrize(
    "name", ["choix ilsr, ties dropped", "evalica bradley_terry, ties halves, log"]
)
def test_special_cases_are_those_of_other_programs(name, shared):
    golden = json.loads((shared / "golden/pairs/golden_pairs_judges.json").read_text())[name]
    votes = pd.read_csv(shared / "data/llmfao_votes.csv.gz")
    if "dropped" in name:
        votes, weights = votes[votes["winner"] != "tie"], None
    else:
        ties = votes["winner"] == "tie"
        votes = pd.concat(
            [votes[~ties], *(votes[ties].assign(winner=side) for side in ("left", "right"))]
        )
        weights = np.where(np.arange(len(votes)) < (~ties).sum(), 1.0, 0.5)
    found = psy.bradley_terry(
        votes[["left", "right", "winner"]], weights=weights, side=False, prior=np.inf, n_draws=100,
        rng=1,
    )  # fmt: skip
    ours = found.to_frame().set_index("model")["strength"]
    theirs = pd.Series(golden)
    np.testing.assert_allclose(ours[theirs.index], theirs, atol=1e-4 if "choix" in name else 1e-5)


@pytest.mark.parametrize("models", [["m0", "m1", "m2", "m3", "m4"], ["m0", "m1", "m2"]])
def test_a_wide_prior_is_not_seen_in_the_errors(votes, models):
    kept = votes[votes["left"].isin(models) == votes["right"].isin(models)]
    wide, wider = (
        psy.bradley_terry(kept[["left", "right", "winner"]], prior=sd, n_draws=100, rng=1)
        for sd in (1e3, np.inf)
    )
    np.testing.assert_allclose(wider.differences.se, wide.differences.se, rtol=2e-6)
    np.testing.assert_allclose(wider.differences.interval, wide.differences.interval, atol=1e-3)


def shapes(votes):
    a, b, w = votes["left"], votes["right"], votes["winner"]
    name = np.where(w == "left", a, np.where(w == "right", b, "tie"))
    arena = w.map({"left": "model_a", "right": "model_b", "tie": "tie (bothbad)"})
    number = w.map({"left": 1.0, "tie": 0.5, "right": 0.0})
    yield pd.DataFrame({"model_a": a, "model_b": b, "winner": arena})
    yield pd.DataFrame({"model_a": a, "model_b": b, "winner": name}).astype("category")
    yield pd.DataFrame({"model_1": a, "model_2": b, "preference": 2.0 - number})
    yield pd.DataFrame({"left": a, "right": b, "winner": number})
    yield {"left": a.tolist(), "right": b.tolist(), "winner": w.tolist()}
    yield list(zip(a, b, w, strict=True))
    hot = {f"winner_{side}": (arena == side).astype(int) for side in ("model_a", "model_b")}
    yield pd.DataFrame({"model_a": a, "model_b": b, **hot, "winner_tie": (w == "tie").astype(int)})


def test_all_shapes_are_one(votes, tmp_path):
    plain = votes.drop(columns="worker")
    options = {"n_draws": 100, "rng": 1}
    wanted = psy.bradley_terry(plain, **options).strengths.value
    for table in shapes(plain):
        got = psy.bradley_terry(table, **options)
        np.testing.assert_allclose(got.strengths.value, wanted, atol=1e-9)
    arrays = [plain[name].to_numpy() for name in ("left", "right", "winner")]
    got = psy.bradley_terry(None, left=arrays[0], right=arrays[1], winner=arrays[2], **options)
    np.testing.assert_allclose(got.strengths.value, wanted, atol=1e-9)
    for path in files_of(plain, tmp_path):
        got = psy.bradley_terry(path, **options)
        np.testing.assert_allclose(got.strengths.value, wanted, atol=1e-9, err_msg=path.name)


def files_of(votes, folder):
    """Yield files with the same votes in each format."""
    duckdb = pytest.importorskip("duckdb")
    votes.to_csv(folder / "votes.csv", index=False)
    votes.to_csv(folder / "packed.csv.gz", index=False)
    votes.to_csv(folder / "tabs.tsv", index=False, sep="\t")
    votes.to_csv(folder / "tabs.tsv.gz", index=False, sep="\t")
    votes.to_csv(folder / "semicolons.csv", index=False, sep=";")
    votes.to_csv(folder / "utf16.csv", index=False, encoding="utf-16")
    votes.to_json(folder / "lines.jsonl", orient="records", lines=True)
    votes.to_parquet(folder / "votes.parquet", index=False)
    with duckdb.connect(folder / "votes.duckdb") as connection:
        connection.execute("CREATE TABLE votes AS SELECT * FROM votes")
    yield from sorted(folder.iterdir())


def test_the_command_knows_votes_in_every_format(votes, tmp_path, capsys):
    few = votes.head(60)
    printed = set()
    for path in files_of(few, tmp_path):
        assert main(["compare", str(path)]) == 0, path.name
        printed.add(capsys.readouterr().out)
    assert len(printed) == 1
    assert f"{len(few)} votes" in printed.pop()


def test_votes_and_scores_are_distinguished():
    assert are_votes(["id", "prompt", "worker", "winner", "left", "right"])
    assert are_votes(["baseline", "model", "preference"])
    assert not are_votes(["model", "baseline", "question", "score"])


def test_chosen_and_rejected_have_no_side():
    table = pd.DataFrame({"chosen": list("aababc"), "rejected": list("bcbcca")})
    found = psy.bradley_terry(table[table["chosen"] != table["rejected"]], rng=1)
    assert found.side.flags == (Reason.NO_SIDES,)
    assert found.ties.flags == (Reason.NO_TIES,)
    assert np.isnan(found.side.value[0])


def test_gaps_whole_numbers_and_few_rows():
    table = pd.DataFrame(
        {"left": [1, 2, 3, 1], "right": [2, 3, 1, 2], "winner": [1, None, "tie", "right"]}
    )
    found = psy.bradley_terry(table, rng=1)
    assert found.fit.n_without_winner == 1
    assert sorted(found.labels) == [1, 2, 3]
    alone = psy.bradley_terry([("a", "b", "a")], rng=1)
    assert np.isfinite(alone.to_frame()[["strength", "lower", "upper"]].to_numpy()).all()
    assert alone.strengths.flags == (Reason.ONE_SIDED,) * 2


def test_who_never_lost_is_finite_and_flagged():
    rows = [("a", "b", "left"), ("b", "c", "left"), ("c", "b", "left"), ("a", "c", "left")] * 8
    found = psy.bradley_terry(rows, rng=1)
    assert found.labels[0] == "a"
    assert found.strengths.flags[0] == Reason.ONE_SIDED
    assert np.isfinite(found.strengths.interval).all()


@pytest.mark.parametrize(
    ("covariates", "match"),
    [
        ({"length": 0.0}, "'length' is always the same"),
        ({"length": 7.0}, "'length' is always the same"),
        ({"one": "x", "two": "y"}, "'two' is a linear combination of 'one'"),
    ],
)
def test_covariates_without_variation_are_errors(votes, covariates, match):
    x = np.random.default_rng(0).normal(size=len(votes))
    columns = {"x": x, "y": 3.0 - 2e6 * x}
    given = {
        name: columns[one] if one in columns else np.full(x.size, one)
        for name, one in covariates.items()
    }
    with pytest.raises(CodeError, match=match):
        psy.bradley_terry(votes, covariates=given, rng=1)


def test_a_constant_covariate_is_the_side(votes):
    options = {**NAMED, "n_draws": 100, "rng": 1}
    plain = votes.drop(columns="worker")
    by_side = psy.bradley_terry(plain, **options)
    constant = {"one": np.ones(len(votes))}
    found = psy.bradley_terry(plain, covariates=constant, side=False, **options)
    # Covariates have a weak prior, the side has none.
    np.testing.assert_allclose(found.covariates.value, by_side.side.value, rtol=1e-3)


def test_a_covariate_is_a_difference():
    rng = np.random.default_rng(2)
    table = drawn(k=3, n=900, voters=1, gap=0.3).drop(columns="worker")
    x = rng.normal(size=(2, 900))
    better = rng.logistic(size=900) < 1.5 * (x[0] - x[1])
    table = table.assign(
        length_left=x[0], length_right=x[1], winner=np.where(better, "left", "right")
    )
    found = psy.bradley_terry(table, covariates="length", rng=1)
    low, high = found.covariates.interval[0]
    assert low < 1.5 < high
    by_name = psy.bradley_terry(table, covariates={"length": x[0] - x[1]}, n_draws=100, rng=1)
    np.testing.assert_allclose(by_name.covariates.value, found.covariates.value)
    chance = found.predict(["m0"] * 2, ["m1"] * 2, covariates=[1.0, -1.0])
    assert chance[0, 0] > chance[1, 0] + 0.3


def test_a_judge_with_other_tastes_is_linked_and_not_pooled():
    people = drawn(k=6, n=900, seed=3)
    judge = drawn(k=6, n=900, seed=4, voters=1, gap=-0.8).assign(worker="judge")
    alone = psy.bradley_terry(people, **NAMED, voter="worker", n_draws=100, rng=1)
    both = psy.bradley_terry(
        pd.concat([people.assign(kind="people"), judge.assign(kind="judges")]),
        **NAMED, voter="worker", kind="kind", n_draws=100, rng=1,
    )  # fmt: skip
    assert both.labels == alone.labels
    assert both.kinds.labels == ("judges",)
    assert both.kinds.worth[0] < 0.5
    assert "judges" in both.summary()


@pytest.mark.parametrize(
    ("table", "options", "error", "words"),
    [
        (pd.DataFrame({"x": [1]}), {}, LabelError, "pass left="),
        (pd.DataFrame({"left": ["a"], "right": ["b"]}), {}, LabelError, "pass winner="),
        ([("a", "a", "left")], {}, LabelError, "itself"),
        ([("a", "b", "c")], {}, CodeError, "not one of its models"),
        ([("a", None, "left")], {}, LabelError, "no model in right"),
        ([("a", "b", None)], {}, ShapeError, "every winner"),
        ([("left", "b", "left")], {}, LabelError, "rename the model"),
        ([("a", "b", "left")], {"prior": -1.0}, OptionError, "prior"),
        ([("a", "b", "left")], {"weights": [-1.0]}, CodeError, "weight"),
        ([("a", "b", "left")], {"covariates": "length"}, LabelError, "length_left"),
        ([("a", "b", "left")], {"voter": ["x", "y"]}, ShapeError, "voter"),
        (3, {}, InputError, "pass a table"),
        ("nowhere.csv", {}, InputError, "no such file"),
    ],
)
def test_one_error_names_what_is_wrong(table, options, error, words):
    with pytest.raises(error, match=words):
        psy.bradley_terry(table, **options)


def test_what_cannot_be_foretold_is_refused(found):
    with pytest.raises(LabelError, match="has no votes"):
        found.predict(["m9"], ["m0"])
    with pytest.raises(ShapeError, match="equal numbers"):
        found.predict(["m0"], ["m1", "m2"])
