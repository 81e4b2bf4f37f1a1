// Who has answered what, and how far they agree.

import { call } from "./server.js";
import { $, element, say, word } from "./state.js";

const share = (value) => `${Math.round(100 * value)} %`;
const figure = (value) => (value === null ? "–" : value.toFixed(2));

function table(head, lines) {
  const cells = (tag, texts) => element("tr", {}, ...texts.map((text) => element(tag, { textContent: text })));
  return element("table", {}, element("thead", {}, cells("th", head)), element("tbody", {}, ...lines.map((line) => cells("td", line))));
}

export async function showFigures() {
  let told;
  try {
    told = await (await call("/api/status")).json();
  } catch (error) {
    say(error.message, true);
    return;
  }
  const shared = told.pairs.reduce((sum, pair) => sum + pair.shared, 0);
  const same = told.pairs.reduce((sum, pair) => sum + pair.shared * pair.same_frame, 0);
  $("figures").textContent = shared ? word("agreement")(Math.round((100 * same) / shared)) : word("agreementNone");
  const people = told.reviewers.map((one) => [one.name, one.answered, one.accepted, one.skipped]);
  const pairs = told.pairs.map((one) => [one.reviewers.join(" · "), one.shared, share(one.same_intent), share(one.same_frame), figure(one.kappa)]);
  const line = (textContent) => element("p", { textContent });
  $("figures-body").replaceChildren(
    table(word("figureRow"), people),
    ...(shared ? [table(word("pairRow"), pairs), line(word("alpha")(figure(told.alpha)))] : [line(word("noAgreement"))]),
    line(word("conflicts")(told.conflicts)),
  );
}
