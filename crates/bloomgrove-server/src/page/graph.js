// The graph of a trace: read from the server's SVG, moved and zoomed with wheel, pointer, keys and
// buttons. One node at a time can be reached by Tab; arrows go from node to node.
//
//   wheel         zooms, if the graph has the focus or with Ctrl; otherwise the page scrolls
//   drag          moves
//   arrows        go to the next node in that direction; with Shift they move the graph
//   + - 0         zoom in, zoom out, show all
//   Enter, click  select a node

import { readDrawing } from "./drawing.js";

const NEAREST = 3;
// Below this scale text is illegible: then only a part is shown at first.
const READABLE = 0.55;
const STEP = 1.25;
const DRAGGED = 4;

/** The label of a node is what is written on it, for speech input. */
function nameAsSeen(node) {
  const texts = [...node.querySelectorAll("text")];
  for (const text of texts) text.before(" ");
  const kind = ["transfer", "event", "document"].find((one) => node.classList.contains(one));
  const start = node.classList.contains("start") ? ", traced" : "";
  node.setAttribute("aria-label", `${texts.map((one) => one.textContent).join(" ")}, ${kind}${start}`);
}

export function makeGraph({ place, buttons, pick }) {
  let drawing = null;
  let nodes = [];
  let frame = null; // the position of the graph in the drawing
  let view = null; // the visible part: the upper left corner, and pixels per unit

  function clear() {
    place.replaceChildren();
    drawing = null;
    nodes = [];
    buttons.hidden = true;
  }

  /** Shows a drawing; returns its legend as `[{ site, letter, colour }]`. */
  function show(text) {
    clear();
    drawing = readDrawing(text);
    if (!drawing) return [];
    const [x, y, width, height] = (drawing.getAttribute("data-graph") ?? "").split(" ").map(Number);
    frame = { x, y, width, height };
    nodes = [...drawing.querySelectorAll(".node")];
    const signs = [...drawing.querySelectorAll(".key")].map((one) => ({
      site: one.getAttribute("data-site"),
      letter: one.querySelector(".letter").textContent,
      colour: one.querySelector("circle").getAttribute("fill"),
    }));
    drawing.querySelector(".head")?.remove();
    for (const node of nodes) {
      node.setAttribute("role", "button");
      node.setAttribute("aria-pressed", "false");
      node.setAttribute("tabindex", "-1");
      nameAsSeen(node);
    }
    if (nodes.length === 0) {
      clear();
      return signs;
    }
    (drawing.querySelector(".node.start") ?? nodes[0]).setAttribute("tabindex", "0");
    place.replaceChildren(drawing);
    buttons.hidden = false;
    first();
    return signs;
  }

  // ---- the visible part

  function size() {
    return { width: place.clientWidth || 600, height: place.clientHeight || 400 };
  }

  function apply() {
    const { width, height } = size();
    // Some of it stays visible, however far it is dragged.
    const keep = 60 / view.scale;
    view.x = Math.min(frame.x + frame.width - keep, Math.max(frame.x - width / view.scale + keep, view.x));
    view.y = Math.min(frame.y + frame.height - keep, Math.max(frame.y - height / view.scale + keep, view.y));
    drawing.setAttribute("width", width);
    drawing.setAttribute("height", height);
    drawing.setAttribute("viewBox", `${view.x} ${view.y} ${width / view.scale} ${height / view.scale}`);
    place.dataset.scale = view.scale.toFixed(3);
  }

  function whole() {
    const { width, height } = size();
    return Math.min(1.15, width / frame.width, height / frame.height);
  }

  function fit() {
    const { width, height } = size();
    const scale = whole();
    view = {
      scale,
      x: frame.x - (width / scale - frame.width) / 2,
      y: frame.y - (height / scale - frame.height) / 2,
    };
    apply();
  }

  /** All of it, if it is legible then; otherwise the traced node and its surroundings. */
  function first() {
    const wide = Math.max(READABLE, Math.min(1.15, (place.clientWidth || 600) / frame.width));
    place.style.height = `${Math.round(Math.min(innerHeight * 0.7, Math.max(220, frame.height * wide)))}px`;
    fit();
    if (view.scale >= READABLE) return;
    view.scale = 0.62;
    const start = drawing.querySelector(".node.start") ?? nodes[0];
    const box = boxOf(start);
    const { width, height } = size();
    // At the side where time starts or ends, with what is below it.
    const left = box.x - frame.x < frame.width / 2;
    const end = Math.min(frame.x + frame.width, box.x + 300);
    view.x = left ? Math.max(frame.x, box.x - 30) : end - width / view.scale;
    // Centred, but with no more empty space than necessary.
    const slack = frame.height - height / view.scale;
    const middle = box.y + box.height / 2 - height / view.scale / 2;
    view.y = slack < 0 ? frame.y + slack / 2 : Math.max(frame.y, Math.min(frame.y + slack, middle));
    apply();
  }

  /** Zooms in or out around the point at `x`, `y`. */
  function zoom(by, x = size().width / 2, y = size().height / 2) {
    const scale = Math.min(NEAREST, Math.max(Math.min(0.05, whole()), view.scale * by));
    view.x += x / view.scale - x / scale;
    view.y += y / view.scale - y / scale;
    view.scale = scale;
    apply();
  }

  function move(x, y) {
    view.x += x / view.scale;
    view.y += y / view.scale;
    apply();
  }

  /** The box of a node in units of the drawing. */
  function boxOf(node) {
    const box = node.querySelector(".box");
    const [, dx, dy] = /translate\(([-\d.]+) ([-\d.]+)\)/.exec(node.parentNode.getAttribute("transform")) ?? [0, 0, 0];
    const number = (name) => Number(box.getAttribute(name));
    return { x: number("x") + Number(dx), y: number("y") + Number(dy), width: number("width"), height: number("height") };
  }

  function bringIntoSight(node) {
    const box = boxOf(node);
    const { width, height } = size();
    const room = 30 / view.scale;
    const across = width / view.scale;
    const down = height / view.scale;
    if (box.x < view.x + room) view.x = box.x - room;
    else if (box.x + box.width > view.x + across - room) view.x = box.x + box.width + room - across;
    if (box.y < view.y + room) view.y = box.y - room;
    else if (box.y + box.height > view.y + down - room) view.y = box.y + box.height + room - down;
    apply();
  }

  // ---- nodes

  function focus(node) {
    for (const one of nodes) one.setAttribute("tabindex", one === node ? "0" : "-1");
    bringIntoSight(node);
    node.focus({ preventScroll: true });
  }

  /** Highlights the node with this index in the trace, and what is linked to it. */
  function mark(index) {
    if (!drawing) return;
    const sought = String(index);
    let found = null;
    for (const one of nodes) {
      const own = one.getAttribute("data-node") === sought;
      one.setAttribute("aria-pressed", String(own));
      if (own) found = one;
    }
    for (const line of drawing.querySelectorAll(".link")) {
      const own = [line.getAttribute("data-cause"), line.getAttribute("data-effect")].includes(sought);
      line.classList.toggle("lit", own);
    }
    drawing.classList.toggle("picked", found !== null);
    if (found) bringIntoSight(found);
  }

  /** The nearest node in a direction; the distance across it counts double. */
  function beside(node, x, y) {
    const middle = (one) => {
      const box = boxOf(one);
      return [box.x + box.width / 2, box.y + box.height / 2];
    };
    const [fromX, fromY] = middle(node);
    let best = null;
    let least = Infinity;
    for (const one of nodes) {
      const [toX, toY] = middle(one);
      const along = (toX - fromX) * x + (toY - fromY) * y;
      const aside = Math.abs((toX - fromX) * y) + Math.abs((toY - fromY) * x);
      if (one !== node && along > 1 && along + 2 * aside < least) {
        least = along + 2 * aside;
        best = one;
      }
    }
    return best;
  }

  // ---- keys and pointers

  const WAYS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

  place.addEventListener("keydown", (event) => {
    if (!drawing || event.ctrlKey || event.metaKey || event.altKey) return;
    const node = event.target.closest?.(".node");
    const way = WAYS[event.key];
    if (way && event.shiftKey) move(way[0] * 60, way[1] * 60);
    else if (way) {
      const next = node && beside(node, ...way);
      if (next) focus(next);
    } else if (event.key === "+" || event.key === "=") zoom(STEP);
    else if (event.key === "-") zoom(1 / STEP);
    else if (event.key === "0") fit();
    else if ((event.key === "Enter" || event.key === " ") && node) pick(Number(node.getAttribute("data-node")));
    else return;
    event.preventDefault();
    event.stopPropagation();
  });

  place.addEventListener("wheel", (event) => {
    if (!drawing || !(event.ctrlKey || place.contains(document.activeElement))) return;
    event.preventDefault();
    const box = place.getBoundingClientRect();
    zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.002)), event.clientX - box.left, event.clientY - box.top);
  }, { passive: false });

  const pointers = new Map();
  let dragged = 0;

  place.addEventListener("pointerdown", (event) => {
    if (!drawing || event.button !== 0) return;
    if (pointers.size === 0) dragged = 0;
    pointers.set(event.pointerId, [event.clientX, event.clientY]);
  });
  place.addEventListener("pointermove", (event) => {
    const last = pointers.get(event.pointerId);
    if (!drawing || !last) return;
    const spread = () => {
      const [one, other] = [...pointers.values()];
      return other ? Math.hypot(one[0] - other[0], one[1] - other[1]) : 0;
    };
    const before = spread();
    const [x, y] = [event.clientX - last[0], event.clientY - last[1]];
    pointers.set(event.pointerId, [event.clientX, event.clientY]);
    dragged += Math.abs(x) + Math.abs(y);
    if (dragged < DRAGGED) return;
    // Not before it is clear that this is not a click, which would otherwise go to the container.
    if (!place.hasPointerCapture(event.pointerId)) place.setPointerCapture(event.pointerId);
    if (pointers.size === 2 && before > 0) zoom(spread() / before);
    else move(-x, -y);
  });
  for (const end of ["pointerup", "pointercancel", "pointerleave"]) {
    place.addEventListener(end, (event) => pointers.delete(event.pointerId));
  }
  place.addEventListener("click", (event) => {
    const node = event.target.closest?.(".node");
    if (!node || dragged >= DRAGGED) return;
    focus(node);
    pick(Number(node.getAttribute("data-node")));
  });

  const actions = { nearer: () => zoom(STEP), further: () => zoom(1 / STEP), all: fit };
  for (const button of buttons.querySelectorAll("[data-zoom]")) {
    button.addEventListener("click", () => drawing && actions[button.dataset.zoom]());
  }
  new ResizeObserver(() => drawing && place.clientWidth && apply()).observe(place);

  return { show, clear, mark, focusOn: (index) => nodes.filter((one) => one.getAttribute("data-node") === String(index)).forEach(focus) };
}
