"""Every sample log, read to the matrix that is right."""

import json

import numpy as np
import pytest

from psychollm._base.errors import CodeError, LabelError, OptionError, PsychollmWarning
from psychollm.data.logs import read_logs
from psychollm.data.readers.logs.archive import Archive
from psychollm.data.readers.logs.detect import format_of, read_runs

ALPHA, BETA = [1, 1, 1, 1, 0, 0], [1, 1, 0, 1, 1, 0]  # what the handmade logs were made from
MODELS = ("mockllm/weak-a", "mockllm/mid-b", "mockllm/strong-c")


def member(path, name):
    with Archive(path) as archive:
        return json.loads(archive.read(name))


@pytest.mark.parametrize(
    ("folder", "format", "options"),
    [
        ("every_eval_ever", "every-eval-ever", {}),
        ("helm", "helm", {"scorer": "exact_match"}),
        ("helm", "helm", {"scorer": "quasi_exact_match"}),
        ("openai_evals", "openai-evals", {}),
        ("opencompass", "opencompass", {}),
        ("hal", "hal", {}),
        ("evalscope", "evalscope", {}),
    ],
)
def test_handmade(samples, folder, format, options):  # noqa: A002
    found = read_logs(samples / folder, **options)
    np.testing.assert_array_equal(found.responses.values, [ALPHA, BETA])
    assert [model.split("/")[-1].strip(")") for model in found.responses.models] == [
        "alpha",
        "beta",
    ]
    assert found.counts()["formats"] == [format]
    assert found.n_logs == 2
    assert len(found.frame) == 12
    assert found.confidence is None


def test_handmade_lighteval(shared):
    pytest.importorskip("pyarrow")
    found = read_logs(shared / "samples" / "handmade" / "lighteval")
    np.testing.assert_array_equal(found.responses.values, [ALPHA, BETA])
    assert found.tasks == ("toy_add|0",)


def test_lighteval(samples):
    pytest.importorskip("pyarrow")
    found = read_logs(samples / "lighteval")
    np.testing.assert_array_equal(found.responses.values, [[1, 1, 1, 0], [1, 0, 1, 1]])
    assert found.responses.models == ("org/alpha", "org/beta")
    assert found.tasks == ("toy_gen|0",)
    assert not found.notes


def test_deepeval(samples):
    found = read_logs(samples / "deepeval")
    np.testing.assert_array_equal(found.responses.values, [[1, 1, 0, 1]])
    assert found.responses.models == ("org/alpha",)
    assert found.responses.questions == ("add-1", "add-2", "add-3", "add-4")


def test_promptfoo(samples):
    with pytest.raises(OptionError, match="pass scorer=, one of 'success', 'score'"):
        read_logs(samples / "promptfoo")
    with pytest.raises(OptionError, match=r"'2\+3 \| 5' 2 times \(3 answers more"):
        read_logs(samples / "promptfoo", scorer="success")
    found = read_logs(samples / "promptfoo", scorer="success", repeats="majority")
    np.testing.assert_array_equal(found.responses.values, [[1, 0, 1]])
    assert found.responses.models == ("org/alpha",)
    graded = read_logs(samples / "promptfoo", scorer="score", repeats="first", threshold=0.4)
    np.testing.assert_array_equal(graded.responses.values, [[1, 1, 1]])
    assert sorted(graded.frame["score"]) == [0.5, 0.5, 1, 1, 1, 1]


# lm-evaluation-harness


def test_lm_eval_choices(samples):
    with pytest.raises(OptionError, match="2 tasks with different scoring"):
        read_logs(samples / "lm_eval")
    with pytest.raises(OptionError, match="pass scorer=, one of 'acc', 'acc_norm'"):
        read_logs(samples / "lm_eval", task="toy_mc")
    with pytest.raises(OptionError, match="pass filter=, one of 'strict-match', 'maj'"):
        read_logs(samples / "lm_eval", task="toy_gen")


def test_lm_eval_accuracy_is_that_of_the_results_file(samples):
    results = json.loads(next((samples / "lm_eval").rglob("results_*.json")).read_text())
    for scorer in ("acc", "acc_norm"):
        found = read_logs(samples / "lm_eval", task="toy_mc", scorer=scorer)
        assert found.responses.models == ("i82qcls7",)
        expected = results["results"]["toy_mc"][f"{scorer},none"]
        assert found.responses.yes_rates == pytest.approx([expected])
    generated = read_logs(samples / "lm_eval", task="toy_gen", filter="maj")
    np.testing.assert_array_equal(generated.responses.values, [[0, 0, 0, 0]])


def test_lm_eval_confidence_is_the_share_of_the_chosen_option(samples):
    found = read_logs(samples / "lm_eval", task="toy_mc", scorer="acc")
    path = next((samples / "lm_eval").rglob("samples_toy_mc*"))
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    for row, stated in zip(rows, found.confidence.to_numpy()[0], strict=True):
        likelihood = np.exp([float(one[0]) for one in row["filtered_resps"]])
        assert stated == pytest.approx(likelihood.max() / likelihood.sum())
    assert read_logs(samples / "lm_eval", task="toy_mc", scorer="acc_norm").confidence is None


def test_several_tasks_in_one_table(samples):
    found = read_logs(
        samples / "lm_eval", scorer={"toy_mc": "acc", "toy_gen": "exact_match"}, filter="maj"
    )
    assert found.responses.n_questions == 12
    assert {label.split("/")[0] for label in found.responses.questions} == {"toy_mc", "toy_gen"}
    assert found.filters == {"toy_gen": "maj", "toy_mc": "none"}


# Inspect AI


def test_inspect_json(samples):
    found = read_logs(samples / "inspect" / "json")
    (path,) = (samples / "inspect" / "json").iterdir()
    log = json.loads(path.read_text())
    expected = [one["scores"]["yes"]["value"] == "C" for one in log["samples"]]
    np.testing.assert_array_equal(found.responses.values, [expected])
    assert found.responses.models == ("mockllm/strong-c",)


def test_inspect_deflate(samples):
    found = read_logs(samples / "inspect" / "deflate")
    assert found.responses.models == MODELS
    assert found.responses.questions == tuple("123456")  # numbers in the log, labels here
    for path, rate in zip(
        sorted((samples / "inspect" / "deflate").iterdir()), found.responses.yes_rates, strict=True
    ):
        scores = member(path, "header.json")["results"]["scores"]
        assert scores[0]["metrics"]["accuracy"]["value"] == pytest.approx(rate)


def test_inspect_zstandard_is_inspect_deflate(samples):
    pytest.importorskip("zstandard")
    first = read_logs(samples / "inspect" / "deflate")
    second = read_logs(samples / "inspect" / "eval", task="mc")
    np.testing.assert_array_equal(first.responses.values, second.responses.values)
    assert first.responses.questions == second.responses.questions


@pytest.mark.parametrize("scorer", ["match", "digits", "dictscore.exact", "dictscore.close"])
def test_inspect_scores_are_those_of_its_own_reductions(samples, scorer):
    """Inspect writes the mean over epochs of every sample: ours must be the same."""
    pytest.importorskip("zstandard")
    found = read_logs(
        samples / "inspect" / "eval", task="performance", scorer=scorer, repeats="mean",
        threshold=0.5,
    )  # fmt: skip
    means = found.frame.groupby(["model", "question"])["score"].mean()
    for path in (samples / "inspect" / "eval").glob("*performance*"):
        model = member(path, "header.json")["eval"]["model"]
        outer, _, inner = scorer.partition(".")
        reduced = next(
            one for one in member(path, "reductions.json") if one["scorer"] in {outer, inner}
        )
        for one in reduced["samples"]:
            value = one["value"][inner] if isinstance(one["value"], dict) else one["value"]
            assert means[model, one["sample_id"]] == pytest.approx(value)
    np.testing.assert_array_equal(
        found.responses.values,
        means.unstack().loc[list(MODELS), list(found.responses.questions)] > 0.5,
    )
    assert found.responses.coding == "score > 0.5"


def test_inspect_choices(samples):
    pytest.importorskip("zstandard")
    logs = samples / "inspect" / "eval"
    with pytest.raises(OptionError, match="3 tasks with different scoring.*pass task="):
        read_logs(logs)
    with pytest.raises(OptionError, match="one of 'match', 'digits', 'dictscore.exact'"):
        read_logs(logs, task="performance")
    with pytest.raises(LabelError, match="scorer='exact': task 'performance' has no such scorer"):
        read_logs(logs, task="performance", scorer="exact")
    with pytest.raises(LabelError, match="task='accuracy': no such task"):
        read_logs(logs, task="accuracy")
    with pytest.raises(LabelError, match="filter='none': these logs have no filters"):
        read_logs(logs, task="mc", filter="none")
    with pytest.raises(OptionError, match="'mockllm/weak-a' answered question 'add-01' 2 times"):
        read_logs(logs, task="performance", scorer="match")
    with pytest.raises(CodeError, match=r"means of repeats are not all 0 or 1 \(0.5\)"):
        read_logs(logs, task="performance", scorer="match", repeats="mean")


def test_inspect_repeats(samples):
    pytest.importorskip("zstandard")
    options = {"task": "performance", "scorer": "match"}
    keep = read_logs(samples / "inspect" / "eval", repeats="keep", **options).responses
    assert keep.models == tuple(f"{model} #{i}" for model in MODELS for i in (1, 2))
    first = read_logs(samples / "inspect" / "eval", repeats="first", **options).responses
    np.testing.assert_array_equal(first.values, keep.values[::2])
    most = read_logs(samples / "inspect" / "eval", repeats="majority", **options)
    even = keep.values[::2] != keep.values[1::2]
    np.testing.assert_array_equal(most.responses.missing, even)
    assert most.n_ties == even.sum() > 0
    np.testing.assert_array_equal(most.responses.values[~even], first.values[~even])


def test_two_runs_of_one_task_are_repeats(samples):
    pytest.importorskip("zstandard")
    inspect = samples / "inspect"
    both, merged = [inspect / "json", inspect / "eval"], "count as repeats of one model"
    with (
        pytest.warns(PsychollmWarning, match=merged),
        pytest.raises(OptionError, match="'add-01' 2 times"),
    ):
        read_logs(both, task="confidence")
    found = read_logs(both, task="confidence", repeats="keep")  # no warning
    assert found.responses.models == (
        "mockllm/strong-c #1", "mockllm/weak-a #1", "mockllm/mid-b #1", "mockllm/strong-c #2",
    )  # fmt: skip


# All of them


def test_formats_are_told_by_content(samples, tmp_path):
    pytest.importorskip("pyarrow")
    expected = {
        "deepeval": {"deepeval"},
        "evalscope": {"evalscope"},
        "every_eval_ever": {"every-eval-ever"},
        "hal": {"hal"},
        "helm": {"helm", None},
        "lighteval": {"lighteval", None},
        "lm_eval": {"lm-eval", None},
        "openai_evals": {"openai-evals"},
        "opencompass": {"opencompass", None},
        "promptfoo": {"promptfoo"},
        "inspect": {"inspect"},
    }
    for folder, formats in expected.items():
        found = {format_of(path) for path in (samples / folder).rglob("*") if path.is_file()}
        assert found == formats, folder
    renamed = tmp_path / "anything.json"
    renamed.write_bytes(next((samples / "deepeval").iterdir()).read_bytes())
    assert format_of(renamed) == "deepeval"


def test_a_named_format_is_obeyed(samples):
    pytest.importorskip("pyarrow")
    assert read_logs(samples, format="hal").n_logs == 2
    with pytest.raises(OptionError, match="format='HAL' is not an option: use one of 'inspect'"):
        read_logs(samples, format="HAL")


def test_all_samples_of_the_shared_folder_are_read(shared):
    pytest.importorskip("zstandard")
    pytest.importorskip("pyarrow")
    counts: dict[str, int] = {}
    for path in sorted((shared / "samples").rglob("*")):
        if path.is_file() and (name := format_of(path)) is not None:
            assert all(run.samples for run in read_runs(path))
            counts[name] = counts.get(name, 0) + 1
    assert counts == {
        "deepeval": 1, "every-eval-ever": 2, "hal": 2, "helm": 2, "inspect": 15, "lighteval": 4,
        "lm-eval": 2, "openai-evals": 2, "opencompass": 2, "promptfoo": 1,
    }  # fmt: skip


# Layouts of old


def test_inspect_version_1(samples):
    folder = samples / "inspect" / "version_1"
    with pytest.raises(OptionError, match="pass repeats="):
        read_logs(folder)
    found = read_logs(folder, repeats="first")
    np.testing.assert_array_equal(found.responses.values, [[1, 0, 1, 0], [1, 1, 0, 1]])
    assert found.responses.models == ("/weak", "/strong")  # as that version wrote them
    assert set(found.frame["scorer"]) == {"match"}
    for path in folder.iterdir():  # its own mean is that of what was read
        (run,) = read_runs(path)
        stated = json.loads(path.read_text())["results"]["metrics"]["accuracy"]["value"]
        assert np.mean([one.scores["match"] for one in run.samples]) == stated


@pytest.mark.parametrize("version", ["0.6", "0.10"])
def test_lighteval_flat(samples, version):
    pytest.importorskip("pyarrow")
    with pytest.raises(OptionError, match="one of 'em', 'qem'"):
        read_logs(samples / "lighteval_flat" / version)
    found = read_logs(samples / "lighteval_flat" / version, scorer="em")
    np.testing.assert_array_equal(found.responses.values, [[1, 1, 1, 0], [1, 0, 1, 1]])
    assert found.responses.models == ("org/alpha", "org/beta")


def test_lighteval_text_and_values_are_the_same_questions(samples):
    pytest.importorskip("pyarrow")
    folder = samples / "lighteval_flat"
    found = read_logs(folder, scorer="em", repeats="first")  # no warning about two folders
    assert found.responses.values.shape == (2, 4)
    assert len(found.frame) == 16


def test_promptfoo_jsonl(samples):
    found = read_logs(samples / "promptfoo_jsonl", scorer="success")
    np.testing.assert_array_equal(found.responses.values, [[1, 0, np.nan], [1, 0, 1]])
    assert found.responses.models == ("org/beta", "org/alpha")
    assert found.responses.questions == ("2+3 | 5", "7+8 | 14", "9+9 | 18")
    assert found.errors == {
        "RateLimitExhaustedError: Rate limit exceeded for flaky after 4 attempts": 1
    }
