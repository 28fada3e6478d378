// Reads the drawings of the server without the browser's parser, which builds whatever it is given, event
// handlers included; some browsers run these before anything can be removed. Here only the elements and
// attributes listed below are created, and text stays text.
//
// It reads the XML that the server writes and nothing else: values in double quotes, no comments, no
// declarations. A drawing with anything else in it does not come from the server, and is not shown.

import { drawn } from "./words.js";

const ELEMENTS = new Set(["svg", "g", "rect", "path", "circle", "text", "title"]);
const ATTRIBUTES = new Set([
  "class", "role", "aria-label", "tabindex",
  "data-graph", "data-site", "data-id", "data-node", "data-cause", "data-effect",
  "viewBox", "transform", "x", "y", "width", "height", "rx", "cx", "cy", "r", "d",
  "fill", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray",
  "font-family", "font-size", "font-weight", "text-anchor",
]);
const ESCAPES = { amp: "&", lt: "<", gt: ">", quot: '"', "#39": "'", "#9": "\t", "#10": "\n", "#13": "\r" };
// Its own style is for files: the page styles the same classes, and its policy forbids others.
const OTHERS = / xmlns="http:\/\/www\.w3\.org\/2000\/svg"|<style>[^<]*<\/style>/g;
const PART = /<(\/?)([a-z]+)((?: [A-Za-z-]+="[^"<]*")*)(\/?)>|[^<]+/gy;
const ATTRIBUTE = / ([A-Za-z-]+)="([^"]*)"/g;

function unescaped(text) {
  return text.replace(/&(amp|lt|gt|quot|#39|#9|#10|#13);/g, (_, name) => ESCAPES[name]);
}

/** The drawing as elements of this page; null if it is not a drawing of the server. */
export function readDrawing(text) {
  const plain = text.replace(OTHERS, "");
  const open = [document.createDocumentFragment()];
  let end = 0;
  for (const [part, closing, name, attributes, empty] of plain.matchAll(PART)) {
    end += part.length;
    if (!name) {
      open.at(-1).append(unescaped(part));
    } else if (closing) {
      if (open.pop().localName !== name || attributes || empty) return null;
    } else {
      const pairs = [...attributes.matchAll(ATTRIBUTE)].map(([, key, value]) => [key, unescaped(value)]);
      if (!ELEMENTS.has(name) || !pairs.every(([key]) => ATTRIBUTES.has(key))) return null;
      const made = drawn(name, Object.fromEntries(pairs));
      open.at(-1).append(made);
      if (!empty) open.push(made);
    }
  }
  const drawing = open[0].firstElementChild;
  return end === plain.length && open.length === 1 && drawing?.localName === "svg" ? drawing : null;
}
