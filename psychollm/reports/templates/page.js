// What a reader can do with the page beyond reading it. Nothing is loaded and nothing is sent.
"use strict";
(() => {
  const all = (what, within = document) => [...within.querySelectorAll(what)];
  const models = JSON.parse(document.querySelector("main").dataset.models || "[]");
  const nameOf = (row) => row.cells[0].title || row.cells[0].textContent.trim();
  const marks = all(".marks > *");
  const rows = all("tbody tr").map((row) => [row, nameOf(row)]);
  let chosen = null; // the place of the model that stays lit

  // One model in all figures and tables.
  const of = (mark) => (mark.dataset.m ? mark.dataset.m.split(" ").map(Number) : []);
  function light(places) {
    for (const mark of marks) {
      mark.classList.toggle("lit", places.length > 0 && places.every((p) => of(mark).includes(p)));
    }
    const names = places.map((place) => models[place]);
    for (const [row, name] of rows) row.classList.toggle("lit", names.includes(name));
  }
  const rest = () => light(chosen === null ? [] : [chosen]);

  const menu = document.createElement("select");
  function choose(place) {
    chosen = place;
    menu.value = place === null ? "" : String(place);
    rest();
  }
  if (marks.length && models.length > 1) {
    const bar = document.createElement("p");
    bar.className = "light";
    const label = document.createElement("label");
    label.append("Show in all figures and tables: ", menu);
    menu.append(new Option("no model", ""), ...models.map((name, i) => new Option(name, i)));
    menu.addEventListener("change", () => choose(menu.value === "" ? null : Number(menu.value)));
    bar.append(label);
    document.querySelector("header").after(bar);
  }

  // The words of a mark: beside the pointer, and read aloud where the keyboard moves.
  const tip = document.createElement("div");
  tip.className = "tip";
  tip.setAttribute("role", "status");
  document.body.append(tip);
  let here = null;
  const words = new Map(marks.map((mark) => [mark, mark.querySelector("title").textContent]));
  for (const mark of marks) {
    mark.querySelector("title").remove(); // else the browser shows it, too, and late
    mark.setAttribute("aria-label", words.get(mark));
  }
  function show(mark, x, y) {
    if (here) here.classList.remove("here");
    here = mark;
    tip.textContent = mark ? words.get(mark) : "";
    if (!mark) return rest();
    mark.classList.add("here");
    light(of(mark).length ? of(mark) : chosen === null ? [] : [chosen]);
    const left = Math.min(x + 14, innerWidth - tip.offsetWidth - 8);
    const above = y - tip.offsetHeight - 12;
    tip.style.left = Math.max(left, 8) + "px";
    tip.style.top = (above < 8 ? y + 18 : above) + "px";
  }
  function middle(mark) {
    const box = mark.getBoundingClientRect();
    return [box.left + box.width / 2, box.top + box.height / 2];
  }
  for (const canvas of all(".answers")) {
    const own = all(".marks > *", canvas);
    canvas.tabIndex = 0;
    canvas.setAttribute("role", "group");
    const name = canvas.querySelector("svg > title").textContent;
    canvas.setAttribute("aria-label", `${name}. ${own.length} values: move with the arrow keys.`);
    canvas.addEventListener("pointermove", (event) => {
      const mark = event.target.closest(".marks > *");
      if (mark || here) show(mark, event.clientX, event.clientY);
    });
    canvas.addEventListener("pointerleave", () => show(null));
    canvas.addEventListener("blur", () => show(null));
    canvas.addEventListener("click", (event) => {
      const mark = event.target.closest(".marks > *");
      if (mark && of(mark).length) choose(of(mark)[0] === chosen ? null : of(mark)[0]);
    });
    canvas.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (step) {
        event.preventDefault();
        const at = own.indexOf(here);
        const next = own[at < 0 ? (step > 0 ? 0 : own.length - 1) : (at + step + own.length) % own.length];
        show(next, ...middle(next));
      } else if (event.key === "Escape") {
        show(null);
        choose(null);
      } else if (event.key === "Enter" && here && of(here).length) {
        choose(of(here)[0] === chosen ? null : of(here)[0]);
      }
    });
  }

  // Tables: a click on a heading sorts, another the other way, a third as it was.
  function key(cell) {
    const text = cell.firstChild ? cell.firstChild.textContent.trim() : "";
    const plain = text.replace(/\u2212/g, "-").replace(/[\u202f\u00a0]/g, "").replace(/%$/, "");
    if (/^<\.?\d/.test(plain.replace(/\s/g, ""))) return 0; // "< .001"
    const number = plain === "\u221e" ? Infinity : plain === "-\u221e" ? -Infinity : Number(plain);
    return plain === "" || plain === "\u2013" ? null : Number.isNaN(number) ? text : number;
  }
  function compare(a, b) {
    if (typeof a === "number" && typeof b === "number") return a - b;
    return String(a).localeCompare(String(b), undefined, { numeric: true });
  }
  function sort(table, column, order) {
    const way = order === "descending" ? -1 : 1;
    const body = table.tBodies[0];
    const keyed = table.original.map((row) => [order ? key(row.cells[column]) : 0, row]);
    keyed.sort(([a], [b]) => {
      if (a === null || b === null) return (a === null) - (b === null); // the undefined last
      return order ? way * compare(a, b) : 0;
    });
    body.append(...keyed.map(([, row]) => row));
  }
  // Long tables: only the rows that hold some letters.
  function filtered(table) {
    const box = document.createElement("input");
    box.type = "search";
    const label = document.createElement("label");
    const told = document.createElement("span");
    told.setAttribute("role", "status");
    label.append("Rows with: ", box);
    box.addEventListener("input", () => {
      const wanted = box.value.trim().toLowerCase();
      for (const row of table.original) {
        const words = [row.textContent, ...all("[title]", row).map((cell) => cell.title)];
        row.hidden = !words.join(" ").toLowerCase().includes(wanted);
      }
      const shown = table.original.filter((row) => !row.hidden).length;
      told.textContent = wanted ? ` ${shown} of ${table.original.length}` : "";
    });
    const line = document.createElement("p");
    line.className = "filter";
    line.append(label, told);
    return line;
  }
  for (const table of all("table")) {
    table.original = [...table.tBodies[0].rows];
    if (table.original.length < 3) continue;
    if (table.original.length > 12) {
      if (table.caption.className) table.parentNode.before(filtered(table));
      else table.caption.append(filtered(table));
    }
    all("thead th", table).forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const next = { ascending: "descending", descending: "" }[head.getAttribute("aria-sort")];
        const order = next === undefined ? "ascending" : next;
        for (const one of all("thead th", table)) one.removeAttribute("aria-sort");
        if (order) head.setAttribute("aria-sort", order);
        sort(table, column, order);
      });
    });
  }
})();
