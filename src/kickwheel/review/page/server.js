// Talking to the server that gave out the page.

import { say, word } from "./state.js";

const token = document.querySelector("meta[name=kickwheel-token]").content;
let busy = false;

export async function call(path, body) {
  const options = { headers: { "x-kickwheel-token": token } };
  if (body) Object.assign(options, { method: "POST", body: JSON.stringify(body) });
  let reply;
  try {
    reply = await fetch(path, options);
  } catch {
    throw new Error(word("notSaved"));
  }
  if (reply.status === 403) throw new Error(word("stale"));
  if (reply.ok) return reply;
  const told = await reply.text();
  let message = told;
  try {
    message = JSON.parse(told).error;
  } catch { /* not every error is ours, nor JSON */ }
  throw new Error(message);
}

// Runs one thing at a time: a key pressed twice sends one answer.
export async function once(work) {
  if (busy) return;
  busy = true;
  try {
    await work();
  } catch (error) {
    say(error.message, true);
  } finally {
    busy = false;
  }
}
