// Offsets are code points everywhere outside this file, as in the rows on disk; only here are there UTF-16 units, which is what
// JavaScript's strings and the DOM count.

export const codePoints = (string) => Array.from(string).length;

// Pieces of a text as [start, end) in code points. Without Intl.Segmenter: single code points, and runs of letters or digits.
function pieces(text, granularity) {
  let units;
  if (globalThis.Intl?.Segmenter) {
    const found = [...new Intl.Segmenter(undefined, { granularity }).segment(text)];
    units = found.map((piece) => [piece.segment, granularity === "grapheme" || piece.isWordLike]);
  } else if (granularity === "grapheme") {
    units = Array.from(text).map((char) => [char, true]);
  } else {
    units = (text.match(/[\p{L}\p{N}]+|[^\p{L}\p{N}]/gu) ?? []).map((run) => [run, /[\p{L}\p{N}]/u.test(run)]);
  }
  const result = [];
  let at = 0;
  for (const [string, counts] of units) {
    const end = at + codePoints(string);
    if (counts) result.push([at, end]);
    at = end;
  }
  return result;
}

// Characters as people see them: an emoji of several code points is one.
export const characters = (text) => pieces(text, "grapheme");
export const words = (text) => pieces(text, "word");

export const slice = (text, start, end) => Array.from(text).slice(start, end).join("");

// A span grown to whole characters, then shrunk to what is not white space; null where nothing is left.
export function tidy(text, start, end) {
  for (const [from, to] of characters(text)) {
    if (from < start && start < to) start = from;
    if (from < end && end < to) end = to;
  }
  const chars = Array.from(text);
  while (start < end && /\s/u.test(chars[start])) start += 1;
  while (start < end && /\s/u.test(chars[end - 1])) end -= 1;
  return start < end ? { start, end } : null;
}

// What is selected within a box whose text content is exactly the text; null: nothing.
export function selectedIn(box) {
  const selection = getSelection();
  if (!selection.rangeCount || selection.isCollapsed) return null;
  const range = selection.getRangeAt(0);
  const [fromInside, toInside] = [box.contains(range.startContainer), box.contains(range.endContainer)];
  if (!fromInside && !toInside) return null;
  const until = (node, offset) => {
    const before = document.createRange();
    before.setStart(box, 0);
    before.setEnd(node, offset);
    return codePoints(before.toString());
  };
  const start = fromInside ? until(range.startContainer, range.startOffset) : 0;
  const end = toInside ? until(range.endContainer, range.endOffset) : codePoints(box.textContent);
  return start < end ? { start, end } : null;
}

export function select(box, start, end) {
  const place = (offset) => {
    const walker = document.createTreeWalker(box, NodeFilter.SHOW_TEXT);
    let node = walker.nextNode();
    while (node) {
      const chars = Array.from(node.data);
      if (offset <= chars.length) return [node, chars.slice(0, offset).join("").length];
      offset -= chars.length;
      node = walker.nextNode();
    }
    return [box, box.childNodes.length];
  };
  getSelection().setBaseAndExtent(...place(start), ...place(end));
}
