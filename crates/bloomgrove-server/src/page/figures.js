// Small charts of the last two minutes, from the status of the server every two seconds.

import { bytes, count, drawn, element, figure } from "./words.js";

const KEEP_SECONDS = 120;
const FIRST_SECONDS = 20; // so that a chart does not start as a dot at its end
const WIDTH = 160;
const HEIGHT = 40;

/** The increase per second between two states. */
function rate(of) {
  return (now, before, seconds) => (before ? Math.max(0, of(now) - of(before)) / seconds : null);
}

// `least` is the top of the chart when all values are small, so that noise stays small.
const FIGURES = [
  { name: "Keys queried", unit: "per second", least: 1, value: rate((s) => s.totals.keys_queried), words: figure },
  { name: "Changes", unit: "per second", least: 1, value: rate((s) => s.totals.changes), words: figure },
  { name: "CPU", unit: "of one core", least: 0.05, value: rate((s) => s.cpu_seconds), words: (core) => `${(core * 100).toFixed(1)}%` },
  { name: "Memory", unit: "in use", least: 1e6, value: (s) => s.resident_bytes ?? null, words: bytes },
  { name: "Sets", unit: "total", least: 1, value: (s) => s.sets, words: count },
];

export function makeFigures(place) {
  const charts = FIGURES.map((about) => {
    const area = drawn("path", { class: "area" });
    const line = drawn("path", { class: "curve" });
    const svg = drawn("svg", {
      viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
      preserveAspectRatio: "none",
      "aria-hidden": "true",
      focusable: "false",
    });
    svg.append(area, line);
    const value = element("span", { class: "value" }, "–");
    const most = element("span", { class: "most" });
    place.append(
      element(
        "li",
        { class: "figure" },
        element("span", { class: "label" }, about.name),
        element("span", { class: "reading" }, value, element("span", { class: "unit" }, ` ${about.unit}`)),
        svg,
        most,
      ),
    );
    return { about, points: [], area, line, value, most };
  });
  let before = null;
  let beforeAt = 0;

  /** A new state at `at` seconds; none interrupts the line, as when the server was unreachable. */
  function add(state, at) {
    // A restarted server starts counting from zero.
    if (state && before && state.uptime < before.uptime) before = null;
    for (const chart of charts) {
      const value = state ? chart.about.value(state, before, Math.max(0.1, at - beforeAt)) : null;
      chart.points.push({ at, value });
      while (chart.points[0].at < at - KEEP_SECONDS) chart.points.shift();
      draw(chart, at);
    }
    before = state;
    beforeAt = at;
  }
  return { add };
}

function draw({ about, points, area, line, value, most }, now) {
  const known = points.filter((point) => point.value !== null);
  const last = points.at(-1).value;
  value.textContent = last === null ? "–" : about.words(last);
  const highest = Math.max(0, ...known.map((point) => point.value));
  most.textContent = known.length > 1 ? `max ${about.words(highest)}` : "";
  const top = Math.max(about.least, highest) * 1.15;
  const span = Math.max(FIRST_SECONDS, now - points[0].at);
  const x = (at) => (WIDTH * (1 - (now - at) / span)).toFixed(1);
  const y = (number) => (HEIGHT - 1 - (HEIGHT - 3) * (number / top)).toFixed(1);
  let strokes = "";
  let fills = "";
  for (const run of runs(points)) {
    const path = run.map((point) => `${x(point.at)} ${y(point.value)}`).join(" L");
    strokes += `M${path}`;
    fills += `M${x(run[0].at)} ${HEIGHT} L${path} L${x(run.at(-1).at)} ${HEIGHT}Z`;
  }
  line.setAttribute("d", strokes);
  area.setAttribute("d", fills);
}

/** The sections without a gap. */
function runs(points) {
  const all = [[]];
  for (const point of points) {
    if (point.value !== null) all.at(-1).push(point);
    else if (all.at(-1).length) all.push([]);
  }
  return all.filter((run) => run.length > 1);
}
