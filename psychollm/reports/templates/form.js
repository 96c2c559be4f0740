"use strict";
const { key, prompts } = JSON.parse(document.getElementById("data").textContent);
const at = (id) => document.getElementById(id);
const HEADER = ["person", "instrument", "prompt", "item", "reply"];
const FORMS = { yes_no: ["Yes", "No"] };
let said = {}; // replies by the key of the prompt
let place = 0;

// Kept in this browser where that is allowed; else the file alone keeps answers.
let shelf = null;
try {
  localStorage.setItem(key + "?", "1");
  localStorage.removeItem(key + "?");
  shelf = localStorage;
} catch { shelf = null; }
function keep() {
  try { shelf?.setItem(key, JSON.stringify({ person: at("person").value, place, said })); }
  catch { shelf = null; }
  warn();
}
function warn() {
  at("warning").hidden = shelf !== null;
  at("warning").textContent = "This browser does not keep your answers when the page is closed: save them first, and continue from the saved file later.";
}
function recall() {
  try {
    const held = JSON.parse(shelf?.getItem(key) ?? "null");
    if (!held || !Object.values(held.said).some((one) => one.trim())) return;
    said = held.said; place = held.place; at("person").value = held.person;
    at("person-note").textContent = `${count()} answers are kept in this browser: press Begin to continue.`;
    at("anew").hidden = false;
  } catch { said = {}; place = 0; }
}
const count = () => prompts.filter((one) => (said[one.key] ?? "").trim()).length;

function show(id) {
  for (const one of ["start", "ask", "end"]) at(one).hidden = one !== id;
}
function turn(who, text, yours) {
  const block = document.createElement("p");
  block.className = yours ? "turn yours" : "turn";
  if (who) {
    const name = document.createElement("span");
    name.className = "who";
    name.textContent = who;
    block.append(name);
  }
  block.append(text); // as text, never as markup
  at("turns").append(block);
}
function conversation(prompt) {
  const before = prompts.find((one) => one.key === prompt.follows);
  if (before) {
    conversation(before);
    turn("Your answer", said[before.key] || "(no answer)", true);
  }
  for (const { role, content } of prompt.messages) {
    turn({ system: "Instructions", assistant: "An earlier answer" }[role] ?? "", content, role === "assistant");
  }
}
function control(prompt) {
  const form = at("answer");
  form.replaceChildren();
  const given = said[prompt.key] ?? "";
  const choices = FORMS[prompt.reply];
  if (choices) {
    const group = document.createElement("fieldset");
    const legend = document.createElement("legend");
    legend.textContent = "Your answer";
    group.append(legend);
    for (const text of choices) {
      const label = document.createElement("label");
      label.className = "choice";
      const radio = document.createElement("input");
      Object.assign(radio, { type: "radio", name: "reply", value: text, checked: given === text });
      radio.addEventListener("change", () => { said[prompt.key] = text; told(); });
      label.append(radio, text);
      group.append(label);
    }
    form.append(group);
    return;
  }
  const label = document.createElement("label");
  label.className = "label";
  label.htmlFor = "reply";
  label.textContent = "Your answer";
  const box = document.createElement("textarea");
  box.className = prompt.reply === "text" ? "" : "short";
  box.id = "reply";
  box.value = given;
  box.addEventListener("input", () => { said[prompt.key] = box.value; told(); });
  form.append(label, box);
}
function told() {
  keep();
  at("progress").value = count();
  at("kept").textContent = `${count()} of ${prompts.length} answered${shelf ? ", kept in this browser" : ""}`;
}
function ask(focus = true) {
  place = Math.min(Math.max(place, 0), prompts.length - 1);
  show("ask");
  at("number").textContent = `Question ${place + 1} of ${prompts.length}`;
  at("turns").replaceChildren();
  conversation(prompts[place]);
  control(prompts[place]);
  at("back").disabled = place === 0;
  at("next").textContent = place + 1 < prompts.length ? "Next" : "Finish";
  told();
  if (focus) at("number").focus();
  scrollTo(0, 0);
}
function finish() {
  show("end");
  const n = count();
  at("summary").textContent = `You answered ${n} of ${prompts.length} questions.`;
  at("text").value = table();
  at("end-title").focus();
}

const cell = (text) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
function table() {
  const person = at("person").value.trim();
  const rows = prompts
    .filter((one) => (said[one.key] ?? "").trim())
    .map((one) => [person, one.instrument, one.key, one.item, said[one.key]]);
  return [HEADER, ...rows].map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
}
function cells(text) { // of a saved file
  const rows = [[""]];
  let quoted = false;
  for (let i = text.startsWith("\ufeff") ? 1 : 0; i < text.length; i++) {
    const row = rows.at(-1);
    const mark = text[i];
    if (quoted && mark === '"' && text[i + 1] === '"') { row[row.length - 1] += '"'; i++; }
    else if (mark === '"') quoted = !quoted;
    else if (!quoted && mark === ",") row.push("");
    else if (!quoted && mark === "\n") rows.push([""]);
    else if (quoted || mark !== "\r") row[row.length - 1] += mark;
  }
  return rows.filter((row) => row.length === HEADER.length);
}
function load(text) {
  const [head, ...rows] = cells(text);
  if (!head || head.join() !== HEADER.join()) {
    at("person-note").textContent = "This file was not saved by this form.";
    return;
  }
  for (const [person, , name, , reply] of rows) {
    at("person").value = person;
    said[name] = reply;
  }
  place = Math.max(prompts.findIndex((one) => !(said[one.key] ?? "").trim()), 0);
  keep();
  at("person-note").textContent = `${count()} answers were read: press Begin to continue.`;
}
function save() {
  const link = document.createElement("a");
  const name = at("person").value.trim().replace(/[^\p{L}\p{N}_-]+/gu, "-") || "person";
  link.href = URL.createObjectURL(new Blob([table()], { type: "text/csv;charset=utf-8" }));
  link.download = `people-${name}.csv`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  at("saved").textContent = at("kept").textContent = `${link.download}: ${count()} answers saved to your downloads.`;
}

at("begin").addEventListener("click", () => {
  if (!at("person").value.trim()) {
    at("person-note").textContent = "Enter a name or a number first.";
    at("person").focus();
    return;
  }
  ask();
});
at("anew").addEventListener("click", () => {
  said = {}; place = 0; at("person").value = "";
  keep();
  at("anew").hidden = true;
  at("person-note").textContent = "";
  at("person").focus();
});
at("person").addEventListener("keydown", (event) => { if (event.key === "Enter") at("begin").click(); });
at("load").addEventListener("change", async (event) => {
  const [file] = event.target.files;
  if (file) load(await file.text());
});
at("answer").addEventListener("submit", (event) => { event.preventDefault(); at("next").click(); });
at("back").addEventListener("click", () => { place -= 1; ask(); });
at("next").addEventListener("click", () => {
  if (place + 1 < prompts.length) { place += 1; ask(); } else finish();
});
at("again").addEventListener("click", () => ask());
at("save").addEventListener("click", save);
at("download").addEventListener("click", save);
recall();
warn();
