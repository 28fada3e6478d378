// All sets as cells, coloured by how full their filters are; those found by a search are highlighted.
//
//   bergen  ▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪     cells in the order of names, in one band per first part of the
//           ▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪     names if there are only a few of these, otherwise in one band
//   cadiz   ▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪

import { nameOf, plural, share } from "./words.js";

const MOST_BANDS = 24;
const LABEL_FONT = "12px system-ui, sans-serif";
const LABEL_MOST = 110;
const LABEL_GAP = 12;
const HEIGHT = { wide: 400, narrow: 420 };
const LARGEST_CELL = 22;
const SMALLEST_CELL = 4;

/** The rank of UTF-16 units in the order of UTF-8: surrogates after all others. */
function unit(code) {
  if (code >= 0xe000) return code - 0x800;
  return code >= 0xd800 ? code + 0x2000 : code;
}

/** Compares like the server: by UTF-8 bytes. */
export function compareNames(a, b) {
  const length = Math.min(a.length, b.length);
  for (let at = 0; at < length; at += 1) {
    const difference = unit(a.charCodeAt(at)) - unit(b.charCodeAt(at));
    if (difference) return difference;
  }
  return a.length - b.length;
}

/** The cell of a name: the last one whose first name does not come after it. */
export function cellOf(cells, name) {
  let low = 0;
  let high = cells.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (compareNames(cells[middle].first, name) <= 0) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** Bands of neighbours whose names are equal up to `/`; one without a label if that is not useful. */
function bandsOf(cells) {
  const bands = [];
  cells.forEach((cell, index) => {
    const slash = cell.first.indexOf("/");
    const label = slash < 0 ? null : cell.first.slice(0, slash);
    if (bands.length && bands.at(-1).label === label) bands.at(-1).count += 1;
    else bands.push({ label, start: index, count: 1 });
  });
  const telling = bands.length > 1 && bands.length <= MOST_BANDS && cells.length >= 2 * bands.length;
  return telling ? bands : [{ label: null, start: 0, count: cells.length }];
}

/** The largest cells with which all fit, in rows of equal length. */
function arrange(cells, width, most, measure) {
  const bands = bandsOf(cells);
  const labels = bands.map((band) => measure(band.label ?? ""));
  const left = bands.length > 1 ? Math.ceil(Math.min(LABEL_MOST, width / 4, Math.max(...labels)) + LABEL_GAP) : 0;
  const gap = bands.length > 1 ? 4 : 0;
  const longest = Math.max(1, ...bands.map((band) => band.count));
  for (let size = LARGEST_CELL; ; size -= 0.5) {
    const fitting = Math.max(1, Math.floor((width - left) / size));
    const columns = Math.max(1, Math.ceil(longest / Math.ceil(longest / fitting)));
    let y = 1;
    const placed = bands.map((band) => {
      const rows = Math.ceil(band.count / columns);
      // A label needs its height, even next to smaller cells.
      const height = Math.max(rows * size, left ? 12 : 0);
      const here = { ...band, y, height };
      y += height + gap;
      return here;
    });
    if (y - gap <= most || size <= SMALLEST_CELL) return { bands: placed, left, size, columns, height: y - gap + 1 };
  }
}

export function makePicture({ canvas, says, summary, open }) {
  let cells = [];
  let total = 0;
  let answered = null; // names of sets that were found; null without a search
  let marked = new Set(); // their cells
  let plan = null;
  let cursor = -1;
  const context = canvas.getContext("2d");

  function colours() {
    const style = getComputedStyle(document.documentElement);
    const read = (name) => style.getPropertyValue(name).trim();
    return {
      ramp: [0, 1, 2, 3, 4, 5].map((step) => read(`--fill-${step}`)),
      full: read("--fill-full"),
      mark: read("--mark"),
      ink: read("--ink"),
      quiet: read("--quiet"),
    };
  }

  function measure(text) {
    context.font = LABEL_FONT;
    return context.measureText(text).width;
  }

  function rectangle(index) {
    const band = plan.bands.findLast((one) => one.start <= index);
    const at = index - band.start;
    return {
      x: plan.left + (at % plan.columns) * plan.size,
      y: band.y + Math.floor(at / plan.columns) * plan.size,
    };
  }

  function draw() {
    const width = canvas.parentElement.clientWidth;
    if (!width) return;
    plan = arrange(cells, width, width < 480 ? HEIGHT.narrow : HEIGHT.wide, measure);
    const dense = window.devicePixelRatio || 1;
    canvas.width = Math.round(width * dense);
    canvas.height = Math.round(plan.height * dense);
    canvas.style.height = `${plan.height}px`;
    context.setTransform(dense, 0, 0, dense, 0, 0);
    context.clearRect(0, 0, width, plan.height);
    const palette = colours();
    labels(palette);
    const inner = plan.size - (plan.size > 6 ? 2 : 1);
    cells.forEach((cell, index) => {
      const { x, y } = rectangle(index);
      // The best filters are half full: the colour scale ends there, and far beyond it is a warning.
      const step = Math.min(5, Math.floor(cell.fill * 11));
      context.globalAlpha = answered && !marked.has(index) ? 0.38 : 1;
      context.fillStyle = cell.fill > 0.6 ? palette.full : palette.ramp[step];
      if (marked.has(index)) context.fillStyle = palette.mark;
      rounded(x, y, inner);
      context.fill();
    });
    context.globalAlpha = 1;
    // Highlighted cells differ by more than colour: they have a border.
    context.strokeStyle = palette.ink;
    context.lineWidth = plan.size > 8 ? 1.5 : 1;
    for (const index of marked) {
      const { x, y } = rectangle(index);
      rounded(x, y, inner);
      context.stroke();
    }
    if (cursor >= 0 && cursor < cells.length) {
      const { x, y } = rectangle(cursor);
      context.lineWidth = 2;
      context.strokeRect(x - 1.5, y - 1.5, inner + 3, inner + 3);
    }
  }

  function rounded(x, y, side) {
    context.beginPath();
    context.roundRect(x + 0.5, y + 0.5, side, side, side > 6 ? 2.5 : 0);
  }

  function labels(palette) {
    if (!plan.left) return;
    context.font = LABEL_FONT;
    context.textBaseline = "top";
    for (const { label, y } of plan.bands) {
      if (label === null) continue;
      context.fillStyle = palette.quiet;
      let text = label;
      while (text.length > 1 && measure(text) > plan.left - LABEL_GAP + 1) text = `${text.slice(0, -2)}…`;
      context.fillText(text, 0, y + Math.max(0, Math.min(2, plan.size / 2 - 6)));
    }
  }

  function indexAt(event) {
    if (!plan) return -1;
    const box = canvas.getBoundingClientRect();
    const column = Math.floor((event.clientX - box.left - plan.left) / plan.size);
    const y = event.clientY - box.top;
    const band = plan.bands.findLast((one) => one.y <= y);
    if (!band || column < 0 || column >= plan.columns) return -1;
    const at = Math.floor((y - band.y) / plan.size) * plan.columns + column;
    return at < band.count ? band.start + at : -1;
  }

  function point(index) {
    if (index === cursor) return;
    cursor = index;
    canvas.style.cursor = index < 0 ? "" : "pointer";
    tell();
    draw();
  }

  function tell() {
    if (cursor < 0 || cursor >= cells.length) {
      says.textContent = cells.length ? "Point at a cell, or use the arrow keys, to see its name." : "";
      return;
    }
    const cell = cells[cursor];
    const more = cell.sets > 1 ? ` and ${plural(cell.sets - 1, "more set")}` : "";
    const answer = answered ? (marked.has(cursor) ? " · may contain the key" : " · does not contain the key") : "";
    says.replaceChildren(nameOf(cell.first), `${more} · ${share(cell.fill)} of bits set${answer}`);
  }

  function describe() {
    const fills = cells.map((cell) => cell.fill).sort((a, b) => a - b);
    if (!fills.length) {
      summary.textContent = "There are no sets yet.";
      return;
    }
    const middle = fills[fills.length >> 1];
    let text = `${plural(total, "set")} in ${plural(cells.length, "cell")}, by name. From ${share(fills[0])} to ${share(fills.at(-1))} of bits set, ${share(middle)} at the median.`;
    if (answered) text += ` ${plural(marked.size, "cell")} may contain the key.`;
    summary.textContent = text;
  }

  canvas.addEventListener("pointermove", (event) => point(indexAt(event)));
  canvas.addEventListener("pointerleave", () => point(-1));
  canvas.addEventListener("click", (event) => {
    const index = indexAt(event);
    if (index >= 0) open(cells[index].first);
  });
  canvas.addEventListener("blur", () => point(-1));
  canvas.addEventListener("keydown", (event) => {
    if (!plan || !cells.length) return;
    const last = cells.length - 1;
    const steps = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: plan.columns, ArrowUp: -plan.columns };
    if (event.key in steps) point(cursor < 0 ? 0 : Math.max(0, Math.min(last, cursor + steps[event.key])));
    else if (event.key === "Home") point(0);
    else if (event.key === "End") point(last);
    else if (event.key === "Enter" && cursor >= 0) open(cells[cursor].first);
    else return;
    event.preventDefault();
  });
  new ResizeObserver(draw).observe(canvas.parentElement);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);

  return {
    show(picture) {
      cells = picture.cells;
      total = picture.sets;
      cursor = Math.min(cursor, cells.length - 1);
      mark(answered);
    },
    mark,
  };

  /** Highlights the cells of these sets; null clears the search. */
  function mark(names) {
    answered = names;
    marked = new Set((names ?? []).map((name) => cellOf(cells, name)).filter((index) => index >= 0));
    canvas.dataset.marked = marked.size;
    canvas.dataset.cells = cells.length;
    describe();
    tell();
    draw();
  }
}
