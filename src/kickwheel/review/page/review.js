// The page: answers, keys, reviewers, languages.

import { showFigures } from "./figures.js";
import "./intents.js";
import { markAs, moveSelection, render, show, start, unmarkSelected } from "./row.js";
import { call, once } from "./server.js";
import { $, element, say, slotsOf, state, word } from "./state.js";

const OUT_OF_SCOPE = "out_of_scope";

async function send(path, body, told) {
  await once(async () => {
    show(await (await call(path, { reviewer: state.reviewer, ...body })).json());
    say(told);
  });
  await showFigures(); // the next row is not kept waiting for them
}

async function next() {
  await once(async () => show(await (await call(`/api/next?reviewer=${encodeURIComponent(state.reviewer)}`)).json()));
  await showFigures();
}

// --- answers -----------------------------------------------------------------------------------------------------------------

const about = () => ({ id: state.row.id, text: state.row.text });

const actions = {
  save() {
    if (!state.intent) say(word("chooseIntent"), true);
    else send("/api/answer", { ...about(), intent: state.intent, slots: state.marks }, word("saved"));
  },
  accept() {
    if (!state.row.suggestion) say(word("noSuggestion"), true);
    else send("/api/answer", { ...about(), decision: "accepted" }, word("saved"));
  },
  out: () => send("/api/answer", { ...about(), intent: OUT_OF_SCOPE, slots: [] }, word("saved")),
  skip: () => send("/api/answer", { ...about(), decision: "skipped" }, word("skipped")),
  undo() {
    if (state.view?.can_undo) send("/api/undo", {}, word("undone"));
  },
};
for (const [name, action] of Object.entries(actions)) $(name).addEventListener("click", action);
$("again").addEventListener("click", next);

$("export").addEventListener("click", () => once(async () => {
  const rows = await (await call("/api/export")).blob();
  const link = element("a", { href: URL.createObjectURL(rows), download: "review.jsonl" });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}));

// --- keys --------------------------------------------------------------------------------------------------------------------

// While a Chinese input method is on, a key is called Process: its place on the keyboard still tells which it is.
const keyOf = (event) => (event.key === "Process" ? event.code.replace(/^(Key|Digit)/u, "") : event.key).toLowerCase();

document.addEventListener("keydown", (event) => {
  const typing = event.target.matches("input, textarea, select");
  if (typing || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  const key = keyOf(event);
  if (event.repeat && !key.startsWith("arrow")) return; // a key held down answers one row, not the next as well
  if (key === "enter" || key === " ") {
    if (key === " " || event.target.matches("button")) return; // a button does what it says
  }
  const row = state.row && {
    enter: actions.save,
    a: actions.accept,
    o: actions.out,
    s: actions.skip,
    i: () => $("intent").focus(),
    "/": () => $("intent").focus(),
    backspace: unmarkSelected,
    delete: unmarkSelected,
    escape: () => start(state.row.suggestion),
    arrowleft: () => moveSelection(event),
    arrowright: () => moveSelection(event),
    arrowup: event.shiftKey && (() => moveSelection(event)),
    arrowdown: event.shiftKey && (() => moveSelection(event)),
  }[key];
  const slot = state.row && /^[1-9]$/u.test(key) && slotsOf()[Number(key) - 1];
  const action = row || (slot && (() => markAs(slot.name))) || { u: actions.undo, "?": () => $("help-dialog").showModal() }[key];
  if (!action) return;
  event.preventDefault();
  action();
});

// --- reviewers, figures, languages -------------------------------------------------------------------------------------------

function speak(language) {
  state.language = language;
  localStorage.setItem("language", language);
  document.documentElement.lang = language;
  for (const one of document.querySelectorAll("[data-word]")) one.textContent = word(one.dataset.word);
  for (const one of document.querySelectorAll("[data-label]")) one.setAttribute("aria-label", word(one.dataset.label));
  $("language").textContent = word("other");
  $("figures").textContent = word("agreementNone");
  $("keys").replaceChildren(...word("keys").flatMap(([key, what]) => [
    element("dt", {}, element("kbd", { textContent: key })),
    element("dd", { textContent: what }),
  ]));
  if (state.row) render();
  if (state.view) {
    $("progress-text").textContent = word("progress")(state.view.answered, state.view.left);
    showFigures();
  }
}

function askName() {
  $("name").value = state.reviewer;
  $("name-dialog").showModal();
}

function work(name) {
  state.reviewer = name;
  localStorage.setItem("reviewer", name);
  $("reviewer").textContent = name;
  next();
}

$("name-form").addEventListener("submit", (event) => {
  const name = $("name").value.trim();
  if (name) work(name);
  else event.preventDefault();
});
$("name-dialog").addEventListener("cancel", (event) => {
  if (!state.reviewer) event.preventDefault();
});
$("reviewer").addEventListener("click", askName);
$("figures").addEventListener("click", () => $("figures-dialog").showModal());
$("help").addEventListener("click", () => $("help-dialog").showModal());
$("language").addEventListener("click", () => speak(state.language === "en" ? "zh" : "en"));
$("theme").addEventListener("click", () => {
  const dark = getComputedStyle(document.documentElement).colorScheme === "dark"
    || (!document.documentElement.dataset.theme && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.dataset.theme = dark ? "light" : "dark";
  localStorage.setItem("theme", document.documentElement.dataset.theme);
});

const theme = localStorage.getItem("theme");
if (theme) document.documentElement.dataset.theme = theme;
speak(localStorage.getItem("language") ?? (navigator.language.startsWith("zh") ? "zh" : "en"));
await once(async () => {
  state.tasks = await (await call("/api/tasks")).json();
});
const known = localStorage.getItem("reviewer");
if (known) work(known);
else askName();
