"""The form: what it holds, what a person does in a real browser, and that the import reads it."""

import html
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from psychollm._base.errors import InputError
from psychollm.cli import main
from psychollm.instruments import RuleWorld
from psychollm.instruments.prompt import Message, Prompt
from psychollm.reports.form import write_form
from psychollm.studies.people.table import read_people

BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
HOSTILE = "</script><b>1 < 2</b> {{ data }} & \u2028 'x'"


def prompts() -> tuple[Prompt, ...]:
    about = {"instrument": "revision", "reference": ["4"], "stage": "first", "rule": "numeric"}
    ask = (Message("system", "Be brief."), Message("user", f"2 + 2? {HOSTILE}"))
    again = (Message("user", "Are you sure?"),)
    first = Prompt(key="q1/first", item="q1", messages=ask, reply="text", about=about)
    return (
        first,
        Prompt(key="q1/again", item="q1", messages=again, reply="text", follows="q1/first",
               about=about),
        Prompt(key="q2", item="q2", messages=(Message("user", "Yes?"),), reply="yes_no",
               about=about),
        Prompt(key="q1/2", item="q1", messages=ask, reply="text", about=about, repeat=1),
        Prompt(key="q3", item="q3", messages=ask, reply="text", about=about, to="m"),
    )  # fmt: skip


def page(tmp_path: Path) -> str:
    return write_form(prompts(), tmp_path / "form.html", title=HOSTILE).read_text("utf-8")


def test_a_person_is_asked_once_and_told_no_answer(tmp_path: Path) -> None:
    (data,) = re.findall(r'type="application/json">(.*?)</script>', page(tmp_path), re.DOTALL)
    held = json.loads(data)
    assert [one["key"] for one in held["prompts"]] == ["q1/first", "q1/again", "q2"]
    assert "reference" not in data
    assert held["prompts"][0]["messages"][1]["content"] == f"2 + 2? {HOSTILE}"


def test_nothing_is_loaded_and_nothing_is_markup(tmp_path: Path) -> None:
    text = page(tmp_path)
    assert not re.findall(r"(?:src|href)=|url\(|@import|https?://", text)
    assert "default-src 'none'" in text
    assert text.count("</script>") == 2
    assert "<b>1" not in text


def test_there_has_to_be_something_to_ask(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no prompts for people"):
        write_form(prompts()[3:], tmp_path / "form.html")


# A person answers, goes back, leaves and comes back; the title tells what is there to be seen.
DRIVER = """
<script>
const seen = [];
const type = (text) => {
  at("reply").value = text;
  at("reply").dispatchEvent(new Event("input"));
};
at("begin").click(); seen.push(at("person-note").textContent);
at("person").value = "Ada, \\"A\\"";
at("begin").click(); seen.push(at("number").textContent);
seen.push(document.querySelectorAll("#turns b").length);
seen.push(at("turns").textContent.includes("<b>1 < 2</b>"));
type("Answer: 4,\\n\\"four\\"");
at("next").click(); seen.push(at("turns").textContent.includes("Your answer"));
type("5"); at("next").click();
document.querySelector("input[value=No]").click();
seen.push(at("kept").textContent.slice(0, 17));
at("back").click(); seen.push(at("reply").value);
at("next").click(); seen.push(document.querySelector("input:checked").value);
const saved = table();
said = {}; load(saved); seen.push(count() + at("person").value);
const held = JSON.stringify({ person: "B", place: 1, said: { q2: "No" } });
said = {}; place = 0; shelf?.setItem(key, held);
recall(); seen.push(shelf ? count() + at("person").value : "1B");
said = {}; load(saved); finish(); seen.push(at("summary").textContent);
document.title = JSON.stringify([seen, at("text").value]);
</script>
"""


@pytest.fixture(scope="module")
def walked(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[object], str]:
    if BROWSER is None:
        pytest.skip("Chromium is not installed")
    folder = tmp_path_factory.mktemp("form")
    path = folder / "walk.html"
    path.write_text(page(folder).replace("</body>", f"{DRIVER}</body>"), encoding="utf-8")
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"]
    command = [BROWSER, *options, f"--user-data-dir={folder}", path.as_uri()]
    found = subprocess.run(command, capture_output=True, text=True, timeout=120)
    (text,) = re.findall(r"<title>(.*?)</title>", found.stdout, re.DOTALL)[:1]
    seen, saved = json.loads(html.unescape(text))
    return seen, saved


def test_what_a_person_sees(walked: tuple[list[object], str]) -> None:
    assert walked[0] == [
        "Enter a name or a number first.",
        "Question 1 of 3",
        0,
        True,
        True,
        "3 of 3 answered, ",
        "5",
        "No",
        '3Ada, "A"',
        "1B",
        "You answered 3 of 3 questions.",
    ]


def test_the_import_reads_what_the_form_saves(
    walked: tuple[list[object], str], tmp_path: Path
) -> None:
    about_first = "".join(walked[1].splitlines(keepends=True)[:4])  # the answer has two lines
    (tmp_path / "people.csv").write_text(about_first, encoding="utf-8", newline="")
    frame = read_people(tmp_path, prompts=prompts()[:2])
    assert frame["person"].unique().tolist() == ['Ada, "A"']
    assert frame["correct"].tolist()[:2] == [1.0, 0.0]


def test_the_command_takes_plans_stores_prompts_and_instruments(tmp_path, capsys) -> None:
    out = tmp_path / "form.html"
    assert main(["form", "rule-world", "--out", str(out), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["n_prompts"] == len(RuleWorld().prompts())
    items = tmp_path / "items.jsonl"
    assert main(["instrument", "rule-world", "--n", "8", "--out", str(items), "--quiet"]) == 0
    assert main(["form", str(items), "--out", str(out)]) == 0
    assert "8 prompts" in capsys.readouterr().out
    plan = tmp_path / "plan.toml"
    plan.write_text(
        'models = [{name = "m", endpoint = "e", model = "m"}]\n'
        '[endpoints.e]\nurl = "http://127.0.0.1:9/v1"\n[study.rule_world]\nn = 12\n'
    )
    assert main(["form", str(plan), "--out", str(out)]) == 0
    assert "12 prompts" in capsys.readouterr().out
    assert main(["form", "self-prediction", "--out", str(out)]) == 2
    assert "needs questions" in capsys.readouterr().err
    assert main(["form", "nowhere.jsonl", "--out", str(out)]) == 2
    assert "is neither a file" in capsys.readouterr().err
