"""What the script does, in a real browser: words at the pointer, one model lit, tables sorted
and filtered, all in the dark."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from psychollm.estimates.listing import Table, name_column, number_column, text_column
from psychollm.plots.marks import keep_points
from psychollm.reports.figure import written
from psychollm.reports.page import Page, Section, render

BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
# What a reader does, and what is there to be seen after each step, as lines of the title.
DRIVER = """
<script>
const seen = [];
const mark = (n) => document.querySelectorAll(".marks > *")[n];
const lit = () => [...document.querySelectorAll(".lit")].length;
const canvas = document.querySelector(".answers");
const tip = document.querySelector(".tip");
const press = (key) => canvas.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
const move = (n) =>
  mark(n).dispatchEvent(
    new PointerEvent("pointermove", { bubbles: true, clientX: 50, clientY: 50 })
  );
move(1); seen.push(`hover ${tip.textContent} lit ${lit()}`);
canvas.dispatchEvent(new PointerEvent("pointerleave"));
seen.push(`left ${tip.textContent} ${lit()}`);
mark(0).dispatchEvent(new MouseEvent("click", { bubbles: true }));
const menu = document.querySelector(".light select");
seen.push(`click ${menu.value} lit ${lit()}`);
press("Escape"); seen.push(`escape ${menu.value} ${lit()}`);
press("ArrowRight"); press("ArrowRight"); seen.push(`keys ${tip.textContent}`);
press("ArrowLeft"); press("Enter"); seen.push(`enter ${menu.value}`);
const column = () =>
  [...document.querySelector("tbody").rows].map((row) => row.cells[1].firstChild.textContent);
const head = document.querySelectorAll("thead th")[1];
for (let i = 0; i < 3; i++) {
  head.querySelector("button").click();
  seen.push(`sort ${head.getAttribute("aria-sort")} ${column().join(" ")}`);
}
const box = document.querySelector("input");
const filter = (letters) => {
  box.value = letters;
  box.dispatchEvent(new Event("input"));
  const rows = [...document.querySelectorAll("table")[1].tBodies[0].rows];
  const shown = rows.filter((row) => !row.hidden).length;
  return shown + box.closest("p").querySelector("span").textContent;
};
seen.push(`filter ${filter("FAMILY-1")}, ${filter("")}, ${filter("no such")}`);
seen.push(`boxes ${document.querySelectorAll("input").length}`);
const background = (node) => getComputedStyle(node).backgroundColor;
seen.push(`dark ${background(document.body)} ${background(document.querySelector("thead th"))}`);
seen.push(`tab ${canvas.tabIndex} ${canvas.getAttribute("aria-label")}`);
document.title = seen.join("; ");
</script>
"""


@pytest.fixture(scope="module")
def title(tmp_path_factory: pytest.TempPathFactory) -> str:
    if BROWSER is None:
        pytest.skip("Chromium is not installed")
    models = ("a <b>", "c", "d")
    drawn = Figure(figsize=(3, 2), layout="constrained")
    ax = drawn.subplots()
    ax.plot([0, 1], [0, 1], "o")
    keep_points(ax, [0, 1], [0, 1], ["a <b>: 0.0", "c: 1.0"], models[:2])
    figure = written(drawn, title="Two dots", key="dots", models=models)
    columns = [
        text_column("m", ["a <b>", "c", "d"]),
        number_column("x", [2.0, -10.0, float("nan")]),
    ]
    long = [f"a-vendor-of-models/family-{k}-instruct-2026-thinking-high" for k in range(20)]
    tables = Table.of(columns, caption="t"), Table.of([name_column("m", long)], caption="u")
    section = Section(title="s", key="s", figures=(figure,), tables=tables)
    page = render(Page(title="", subtitle="", verdict="", sections=(section,), models=models))
    path: Path = tmp_path_factory.mktemp("browser") / "page.html"
    path.write_text(page.replace("</body>", f"{DRIVER}</body>"), encoding="utf-8")
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"]
    options += ["--blink-settings=preferredColorScheme=0"]  # dark
    command = [BROWSER, *options, path.as_uri()]
    found = subprocess.run(command, capture_output=True, text=True, timeout=120)
    (text,) = re.findall(r"<title>(.*?)</title>", found.stdout, re.DOTALL)[:1]
    return str(text)


@pytest.mark.parametrize(
    "step",
    [
        "hover c: 1.0 lit 2",  # the dot and the row of the table
        "left  0",
        "click 0 lit 2",
        "escape  0",
        "keys c: 1.0",
        "enter 0",
        "sort ascending −10.00 2.00 –",
        "sort descending 2.00 −10.00 –",
        "sort null 2.00 −10.00 –",
        "filter 11 11 of 20, 20, 0 0 of 20",  # by the whole name: 1 and 10 to 19
        "boxes 1",  # three rows need none
        "dark rgb(22, 22, 22) rgb(22, 22, 22)",
        "tab 0 Two dots. 2 values: move with the arrow keys.",
    ],
)
def test_what_a_reader_does(title: str, step: str) -> None:
    assert step in title.split("; ")
