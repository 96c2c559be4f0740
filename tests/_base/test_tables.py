"""Tables in reporting style: what becomes of numbers, intervals, p-values, gaps and markup."""

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import psychollm as psy
from psychollm._base.convergence import Convergence
from psychollm._base.errors import InputError, OptionError
from psychollm._base.tables import digits_of, level_of, reporting_table
from psychollm._base.typeset import Table, latex_text
from psychollm.calibration import brier
from psychollm.calibration.consensus.logistic import Logistic
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.reasons import Reason


def estimate(labels: tuple[str, ...] = ("a", "b")) -> Estimate:
    return Estimate(
        name="skill",
        value=np.array([-0.1234, np.nan]),
        se=np.array([0.02, np.nan]),
        interval=np.array([[-0.16, 0.001], [np.nan, np.nan]]),
        n=np.array([100.0, 0.0]),
        flags=(Reason.NONE, Reason.TOO_FEW),
        method="made",
        level=0.9,
        labels=labels,
    )


def test_an_estimate_in_markdown() -> None:
    assert estimate().to_markdown().splitlines() == [
        "| model |        value [90 %] |    SE |   n | flag                 |",
        "|:------|--------------------:|------:|----:|:---------------------|",
        "| a     | -0.12 [-0.16, 0.00] | 0.020 | 100 |                      |",
        "| b     |                   – |     – |   0 | too few observations |",
    ]


def test_an_estimate_in_latex() -> None:
    assert estimate(("50 %_x", "[b]")).to_latex(
        columns=["model", "value"], caption="A & B", label="tab:a_b"
    ).splitlines() == [
        r"\begin{table}",
        r"\centering",
        r"\caption{A \& B}",
        r"\label{tab:a_b}",
        r"\begin{tabular}{lr}",
        r"\toprule",
        r"model & value [90 \%] \\",
        r"\midrule",
        r"50 \%\_x & $-$0.12 [$-$0.16, 0.00] \\",
        r"{}[b] & -- \\",
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]


@pytest.mark.parametrize(
    ("values", "digits", "decimals"),
    [
        ([1.0, 12.0, np.nan], 2, 0),
        ([1.0, 0.0], 2, 2),
        ([0.004, 0.0001], 2, 4),
        ([0.02, 0.5], 2, 2),
        ([0.004, 0.5], 2, 2),
        ([1e-16, 0.0], 2, 2),
        ([np.nan], 3, 3),
        ([3, 4], 2, 0),
        ([0.5, np.inf], 1, 1),
        ([2e-5], 8, 8),
    ],
)
def test_decimals(values: list[float], digits: int, decimals: int) -> None:
    assert digits_of(values, digits) == decimals


def test_bounds_go_where_they_belong() -> None:
    frame = pd.DataFrame(
        {
            "x": [0.5],
            "x_lower": [0.4],
            "x_upper": [0.6],
            "lower_y": [0.1],
            "upper_y": [0.2],
            "y": [0.15],
            "rmsea_lower": [0.01],
            "rmsea_upper": [0.02],
            "se_low": [0.25],
            "se_high": [0.75],
            "between questions": [1.5],
            "between questions lower": [1.25],
            "between questions upper": [np.nan],
            "lower": [0.0],
            "upper": [1.0],
            "lower_middle": [7],
        }
    )
    bounds = {
        "x_lower": ("x_upper", "x"),
        "lower_y": ("upper_y", "y"),
        "rmsea_lower": ("rmsea_upper", "rmsea"),
        "between questions lower": ("between questions upper", "between questions"),
        "lower": ("upper", ""),
        "not_there": ("nor_this", "x"),
    }
    table = reporting_table(frame, level=0.95, intervals=bounds)
    assert table.headings == (
        "x [95 %]",
        "y [95 %]",
        "RMSEA",
        "SE low",
        "SE high",
        "between questions [95 %]",
        "95 % interval",
        "lower middle",
    )
    (row,) = table.rows
    assert row == (
        "0.50 [0.40, 0.60]",
        "0.15 [0.10, 0.20]",
        "[0.01, 0.02]",
        "0.25",
        "0.75",
        "1.50 [1.25, –]",
        "[0.00, 1.00]",
        "7",
    )


def test_kinds_of_columns() -> None:
    frame = pd.DataFrame(
        {
            "p_value": [0.5, 0.00001],
            "odds_p_adjusted": [np.nan, 1.0],
            "p_value_se": [0.1, 0.0],
            "adjusted": [0.0314, 0.2],
            "df": [1.0, 1.0],
            "flag": ["", ""],
            "reason": ["", "why"],
            "done": [True, False],
            "mixed": [1.5, None],
            "text": ["two  \n words", "x|y"],
            "infinite": [np.inf, -np.inf],
        },
        index=pd.Index(["a", "b"], name="model"),
    )
    table = reporting_table(frame)
    assert "flag" not in table.headings
    found = dict(zip(table.headings, zip(*table.rows, strict=True), strict=True))
    assert found["model"] == ("a", "b")
    assert found["p"] == (".500", "< .001")
    assert found["odds p adjusted"] == ("–", "1.000")
    assert found["p SE"] == ("0.10", "0.00")
    assert found["adjusted"] == (".031", ".200")
    assert found["df"] == ("1", "1")
    assert found["reason"] == ("", "why")
    assert found["done"] == ("yes", "no")
    assert found["mixed"] == ("1.50", "–")
    assert found["infinite"] == ("∞", "-∞")
    lines = table.markdown().splitlines()
    assert "| two words |" in lines[2]
    assert "x\\|y" in lines[3]
    assert r"x\textbar{}y" in table.latex()
    assert r"$\infty$" in table.latex()


def test_columns_are_chosen_with_their_intervals() -> None:
    frame = pd.DataFrame({"a": [1], "x": [0.5], "x_lower": [0.4], "x_upper": [0.6]})
    bounds = {"x_lower": ("x_upper", "x")}
    table = reporting_table(frame, columns=["x", "a"], intervals=bounds)
    assert table.rows == (("0.50 [0.40, 0.60]", "1"),)
    with pytest.raises(OptionError, match="columns has 'x_lower': pass a list of 'a', 'x'"):
        reporting_table(frame, columns=["x_lower"], intervals=bounds)
    with pytest.raises(OptionError, match="columns has 'a'"):
        reporting_table(frame, columns="a")


@pytest.mark.parametrize("digits", [-1, 9, 2.0, True, "2"])
def test_bad_digits(digits: object) -> None:
    with pytest.raises(OptionError, match="digits="):
        estimate().to_markdown(digits=digits)  # type: ignore[arg-type]


def test_a_label_needs_a_caption() -> None:
    with pytest.raises(OptionError, match="needs a caption"):
        estimate().to_latex(label="tab:x")


def test_a_result_without_a_table_says_so() -> None:
    found = Logistic(
        coefficients=np.zeros(1),
        covariance=np.eye(1),
        log_likelihood=0.0,
        objective=0.0,
        separated=False,
        penalised=False,
        convergence=Convergence(converged=True, iterations=1, reason="done", objective=0.0),
    )
    with pytest.raises(InputError, match="Logistic has no table: its fields are in to_dict"):
        found.to_markdown()
    assert "coefficients" in found._repr_html_()


def test_the_level_is_found_in_what_a_result_holds() -> None:
    assert level_of(estimate()) == 0.9
    assert level_of((estimate(),)) == 0.9
    assert level_of({"a": {"b": estimate()}}) == 0.9
    assert level_of(psy.load_example("shared_confidence").confidence) is None


@pytest.mark.parametrize("text", ["&%$#_{}~^\\<>|", "plain", "a\nb", "–"])
def test_every_sign_of_latex_is_escaped(text: str) -> None:
    found = latex_text(text)
    stripped = found
    for known in (r"\textbackslash{}", r"\textasciitilde{}", r"\textasciicircum{}"):
        stripped = stripped.replace(known, "")
    for known in (r"\textless{}", r"\textgreater{}", r"\textbar{}"):
        stripped = stripped.replace(known, "")
    for sign in "&%$#_{}":
        stripped = stripped.replace(f"\\{sign}", "")
    assert not set(stripped) & set("&%$#_{}~^\\<>|\n")


def test_html_of_a_result_is_escaped_and_small() -> None:
    labels = tuple(f"<b>{k}</b>" for k in range(40))
    found = brier(np.full((40, 6), 0.5), np.eye(40, 6, dtype=int), bootstrap=9, rng=0)
    page = found._repr_html_()
    assert "34 more rows in to_frame()" in page
    wide = psy.Responses(np.ones((40, 900), dtype=int), models=labels)
    page = wide._repr_html_()
    assert "&lt;b&gt;0&lt;/b&gt;" in page
    assert "<b>" not in page
    assert "34 more rows and 892 more columns in to_frame()" in page
    assert len(page) < 6000


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="LaTeX is not installed")
def test_latex_compiles(tmp_path: Path) -> None:
    made = estimate(("a_b & c% $5 #<|>~^\\{}", "[b] *x*"))
    page = (
        "\\documentclass{article}\\usepackage[T1]{fontenc}\\usepackage{booktabs}\n"
        "\\begin{document}\n"
        + made.to_latex(caption="100 % of <it> & more", label="tab:x")
        + "\n"
        + made.to_latex()
        + "\n\\ref{tab:x}\n\\end{document}\n"
    )
    (tmp_path / "x.tex").write_text(page, encoding="utf-8")
    ran = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-draftmode", "x.tex"],
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout.decode(errors="replace")[-2000:]


def test_markdown_holds_no_html() -> None:
    cells = ("<script>alert(1)</script>", "p < .05", "<.001", "<!-- a -->")
    text = Table(("a", "b", "c", "d"), (False,) * 4, (cells,)).markdown()
    assert r"\<script>alert(1)\</script>" in text
    assert r"\<!-- a -->" in text
    assert "| p < .05 | <.001 |" in text


def test_html_sets_numbers_to_the_right_and_escapes_words() -> None:
    text = Table(("model", "n"), (False, True), (("<a>", "1"), ("b", "2"))).html()
    head = "<th class=l>model</th><th class=r>n</th>"
    body = "<tr><td class=l>&lt;a&gt;</td><td class=r>1</td></tr>"
    body += "<tr><td class=l>b</td><td class=r>2</td></tr>"
    expected = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    assert text == expected
