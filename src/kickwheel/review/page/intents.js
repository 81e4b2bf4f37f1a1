// The list of intents: type to filter, arrows and Enter to choose.

import { render } from "./row.js";
import { $, element, say, slotsOf, state, word } from "./state.js";

let options = [];
let active = -1;

function filterIntents(typed) {
  const terms = typed.toLowerCase().split(/\s+/u).filter(Boolean);
  options = state.tasks.filter((item) => {
    const about = `${item.name} ${item.name.replaceAll("_", " ")} ${item.description}`.toLowerCase();
    return terms.every((term) => about.includes(term));
  });
  active = options.length ? 0 : -1;
  drawIntents();
}

function drawIntents() {
  const list = $("intents");
  list.replaceChildren(...options.map((item, index) => {
    const option = element("li", { id: `intent-${index}` }, element("strong", { textContent: item.name }), " ", item.description);
    option.setAttribute("role", "option");
    option.setAttribute("aria-selected", index === active);
    option.addEventListener("mousedown", (event) => {
      event.preventDefault();
      chooseIntent(item.name);
    });
    return option;
  }));
  list.hidden = false;
  $("intent").setAttribute("aria-expanded", "true");
  $("intent").setAttribute("aria-activedescendant", active < 0 ? "" : `intent-${active}`);
  list.children[active]?.scrollIntoView({ block: "nearest" });
}

function closeIntents() {
  $("intents").hidden = true;
  $("intent").setAttribute("aria-expanded", "false");
  $("intent").removeAttribute("aria-activedescendant");
  $("intent").value = state.intent;
}

function chooseIntent(name) {
  state.intent = name;
  const known = new Set(slotsOf().map((slot) => slot.name));
  const dropped = state.marks.filter((mark) => !known.has(mark.name)).map((mark) => mark.name);
  state.marks = state.marks.filter((mark) => known.has(mark.name));
  closeIntents();
  render();
  say(dropped.length ? word("dropped")(dropped.join(", ")) : "");
  $("text").focus();
}

$("intent").addEventListener("focus", () => {
  $("intent").select();
  filterIntents("");
});
$("intent").addEventListener("input", () => filterIntents($("intent").value));
$("intent").addEventListener("blur", closeIntents);
$("intent").addEventListener("keydown", (event) => {
  if (event.isComposing) return; // Enter ends the input of a Chinese word, not the choice
  const count = options.length;
  if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    if (count) active = (active + (event.key === "ArrowDown" ? 1 : count - 1)) % count;
    drawIntents();
  } else if (event.key === "Enter") {
    if (count) chooseIntent(options[active].name);
  } else if (event.key === "Escape") {
    closeIntents();
    $("text").focus();
  } else {
    return;
  }
  event.preventDefault();
  event.stopPropagation();
});
