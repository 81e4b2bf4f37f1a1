// The row on the page: its text with marks, its intent, its details.

import { $, element, meaning, say, slotsOf, state, word } from "./state.js";
import { characters, select, selectedIn, slice, tidy, words } from "./text.js";

const COLOURS = 8;
const percent = (share) => `${Math.round(100 * share)} %`;

export function show(view) {
  state.view = view;
  state.row = view.row;
  const { answered, left } = view;
  const done = answered + left ? Math.round((100 * answered) / (answered + left)) : 100;
  $("bar").setAttribute("aria-valuenow", done);
  $("fill").style.width = `${done}%`;
  $("progress-text").textContent = word("progress")(answered, left);
  $("undo").disabled = !view.can_undo;
  $("card").hidden = !view.row;
  $("done").hidden = Boolean(view.row);
  if (view.row) {
    start(view.row.draft ?? view.row.suggestion);
    $("text").focus();
  } else {
    $("again").focus();
  }
}

export function start(frame) {
  state.intent = frame?.intent ?? "";
  const known = new Set(slotsOf().map((slot) => slot.name)); // a teacher may have marked what the intent does not have
  const slots = (frame?.slots ?? []).filter((slot) => known.has(slot.name));
  state.marks = slots.map(({ name, start: from, end }) => ({ name, start: from, end }));
  state.selection = null;
  getSelection().removeAllRanges();
  render();
}

const colour = (name) => `slot-${Math.max(0, slotsOf().findIndex((slot) => slot.name === name)) % COLOURS}`;

export function render() {
  const { row } = state;
  renderWhy(row);
  renderText(row.text);
  $("intent").value = state.intent;
  $("meaning").textContent = meaning();
  const slots = slotsOf();
  $("slots").replaceChildren(...(slots.length ? slots.map(slotLine) : [element("li", { className: "quiet", textContent: word("noSlots") })]));
  $("accept").disabled = !row.suggestion;
}

function renderWhy(row) {
  const reasons = row.reasons.map((reason) => word("reasons")[reason] ?? reason.replaceAll("_", " "));
  const sure = row.intent_confidence === null ? "" : ` (${percent(row.intent_confidence)})`;
  const suggestion = row.suggestion ? word("suggested")(row.suggestion.intent) + sure : word("unsuggested");
  const parts = [...reasons, word("confidence")(Math.round(100 * row.confidence))];
  const chips = [element("strong", { textContent: suggestion }), ...parts.map((text) => element("span", { textContent: text }))];
  if (row.in_conflict) chips.unshift(element("span", { className: "wrong", textContent: word("conflict") }));
  $("why").replaceChildren(...chips);
}

function renderText(text) {
  const nodes = [];
  let at = 0;
  for (const mark of state.marks) {
    nodes.push(slice(text, at, mark.start));
    const shown = element("mark", { className: colour(mark.name), textContent: slice(text, mark.start, mark.end) });
    shown.dataset.name = mark.name; // drawn by the style sheet, so that it is no part of the text
    nodes.push(shown);
    at = mark.end;
  }
  nodes.push(slice(text, at));
  $("text").replaceChildren(...nodes);
}

function slotLine(slot, index) {
  const mark = state.marks.find((item) => item.name === slot.name);
  const value = mark ? slice(state.row.text, mark.start, mark.end) : word("unmarked");
  const button = element("button", { type: "button", className: `name ${colour(slot.name)}`, title: slot.description });
  button.append(...(index < 9 ? [element("kbd", { textContent: index + 1 }), " "] : []), slot.name);
  button.addEventListener("mousedown", (event) => event.preventDefault()); // keeps the selection
  button.addEventListener("click", () => markAs(slot.name));
  const line = element("li", {}, button, element("span", { className: mark ? "value" : "quiet", textContent: value }));
  const suggested = mark && state.row.suggestion?.slots.some((item) => item.name === mark.name && item.start === mark.start && item.end === mark.end);
  if (suggested && slot.name in state.row.slot_confidence) {
    line.append(element("span", { className: "quiet hint", textContent: percent(state.row.slot_confidence[slot.name]) }));
  }
  if (mark) {
    const remove = element("button", { type: "button", className: "remove", textContent: "×", title: word("unmark") });
    remove.setAttribute("aria-label", `${word("unmark")}: ${slot.name}`);
    remove.addEventListener("click", () => unmark((item) => item !== mark));
    line.append(remove);
  } else if (slot.description || slot.values.length) {
    line.append(element("span", { className: "quiet hint", textContent: slot.description || word("such")(slot.values.slice(0, 4).join(", ")) }));
  }
  return line;
}

// --- marks -------------------------------------------------------------------------------------------------------------------

export function markAs(name) {
  const span = state.selection && tidy(state.row.text, state.selection.start, state.selection.end);
  if (!span) {
    say(word("selectFirst"), true);
    return;
  }
  const others = state.marks.filter((mark) => mark.name !== name && (mark.end <= span.start || span.end <= mark.start));
  state.marks = [...others, { name, ...span }].sort((left, right) => left.start - right.start);
  state.selection = null;
  getSelection().removeAllRanges();
  render();
  say(`${name}: ${slice(state.row.text, span.start, span.end)}`);
  $("text").focus();
}

function unmark(keep) {
  state.marks = state.marks.filter(keep);
  render();
  $("text").focus();
}

export function unmarkSelected() {
  const span = state.selection;
  const outside = (mark) => span && (mark.end <= span.start || span.end <= mark.start);
  const last = state.marks.at(-1);
  if (!last) say(word("nothingMarked"), true);
  else unmark(span ? outside : (mark) => mark !== last);
}

export function moveSelection(event) {
  const { text } = state.row;
  const span = state.selection;
  const units = characters(text);
  const step = (offset, forward) => {
    const edges = [0, ...units.map(([, end]) => end)];
    return forward ? edges.find((edge) => edge > offset) ?? offset : edges.findLast((edge) => edge < offset) ?? offset;
  };
  let [from, to] = span ? [span.start, span.end] : [0, 0];
  const forward = event.key === "ArrowRight" || event.key === "ArrowDown";
  if (event.shiftKey && span) {
    if (event.key === "ArrowLeft" || event.key === "ArrowRight") to = step(to, forward);
    else from = step(from, forward);
    if (from >= to) return;
  } else {
    const found = words(text);
    const word_ = forward ? found.find(([start_]) => start_ >= to) ?? found.at(-1) : found.findLast(([, end]) => end <= from) ?? found[0];
    if (!word_) return;
    [from, to] = word_;
  }
  select($("text"), from, to);
  state.selection = { start: from, end: to };
}

document.addEventListener("selectionchange", () => {
  if (!state.row) return;
  const span = selectedIn($("text"));
  const inside = $("text").contains(getSelection().anchorNode);
  if (span || inside) state.selection = span; // a click elsewhere, on a slot say, leaves it
});
