// What all parts of the page share: what it shows now, its words, and how elements are made. What users wrote goes into the page as
// text nodes, never as HTML.

import { WORDS } from "./words.js";

export const state = {
  tasks: [], reviewer: "", language: "en", view: null, row: null, intent: "", marks: [], selection: null,
};

export const $ = (id) => document.getElementById(id);
export const word = (name) => WORDS[state.language][name];

export function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

export function say(text, wrong = false) {
  $("message").textContent = text;
  $("message").classList.toggle("wrong", wrong);
}

const task = () => state.tasks.find((item) => item.name === state.intent);
export const meaning = () => task()?.description ?? "";
export const slotsOf = () => task()?.slots ?? [];
