// Combines the parts of the page. The query and the open set are in the address, so
// that "back" works and a search can be shared:
//
//   #key=doc-00042                          one key
//   #key=a&key=b&prefix=galway&tag=orders   two keys, some of the sets
//   #key=order%204711&extract=tokens        all words of a key
//   #key=doc-00042&set=galway%2Forders      with a set open
//   #trace=doc-1&way=descendants&depth=3    a trace; without an id, only its form

import { makeDetails } from "./page/details.js";
import { makeFigures } from "./page/figures.js";
import { makePicture } from "./page/picture.js";
import { keysOf, makeSearch } from "./page/search.js";
import { encode, get, key } from "./page/server.js";
import { makeSets } from "./page/sets.js";
import { makeSites } from "./page/sites.js";
import { makeTrace } from "./page/trace.js";
import { bytes, count, duration, element, plural, share } from "./page/words.js";

const EVERY = 2000;
// The map and the table follow changes, but not each of a thousand per second.
const REDRAW_EVERY = 4000;
const CELLS = 2000;

const at = (id) => document.getElementById(id);
const searchForm = at("search-form");
const input = at("key-input");
const traceForm = at("trace-form");
const traceInput = at("trace-input");
const WAYS = ["ancestors", "descendants"];

// ---- the address

function addressState() {
  const words = new URLSearchParams(location.hash.slice(1).replaceAll("+", "%2B"));
  const text = (name) => words.get(name) ?? "";
  const full = (name) => words.getAll(name).filter((one) => one !== "");
  const way = WAYS.includes(text("way")) ? text("way") : WAYS[0];
  const depth = /^\d{1,9}$/.test(text("depth")) ? Number(text("depth")) : null;
  const trace = words.has("trace") ? { ids: full("trace"), direction: way, depth } : null;
  const extract = text("extract");
  return { keys: full("key"), prefix: text("prefix"), tag: text("tag"), extract, set: text("set"), trace };
}

function address({ keys = [], prefix, tag, extract, set, trace }) {
  const words = keys.map((one) => `key=${encode(one)}`);
  if (trace) {
    words.push(...(trace.ids.length ? trace.ids : [""]).map((one) => `trace=${encode(one)}`));
    if (trace.direction !== WAYS[0]) words.push(`way=${trace.direction}`);
    if (trace.depth !== null) words.push(`depth=${trace.depth}`);
  }
  if (extract) words.push(`extract=${encode(extract)}`);
  if (prefix) words.push(`prefix=${encode(prefix)}`);
  if (tag) words.push(`tag=${encode(tag)}`);
  if (set) words.push(`set=${encode(set)}`);
  return `#${words.join("&")}`;
}

/** The address with another set open, or none. */
function withSet(set) {
  return address({ ...addressState(), set });
}

let current = null;

function follow() {
  const state = addressState();
  if (state.set) details.open(state.set);
  else details.hide();
  const query = address({ ...state, set: "" });
  if (query === current) return;
  current = query;
  show(state.trace ? "trace" : "search");
  if (state.trace) return followTrace(state.trace);
  fillIn(state);
  at("answer-none").hidden = state.keys.length > 0;
  if (state.keys.length) search.run(state);
  else search.clear();
}

/** One of the two views. */
function show(view) {
  document.body.dataset.view = view;
  for (const one of ["search", "trace"]) {
    at(`${one}-view`).hidden = one !== view;
    if (one === view) at(`to-${one}`).setAttribute("aria-current", "page");
    else at(`to-${one}`).removeAttribute("aria-current");
  }
}

function followTrace(query) {
  sites.load();
  traceInput.value = query.ids[0] ?? "";
  traceForm.elements.direction.value = query.direction;
  traceForm.elements.depth.value = query.depth ?? "";
  titleTrace();
  if (query.ids.length) trace.run(query);
  else trace.clear();
}

function titleTrace() {
  const up = traceForm.elements.direction.value === WAYS[0];
  at("trace-title").textContent = up ? "Where does this document come from?" : "What was made from this document?";
}

function fillIn({ keys, prefix, tag, extract }) {
  const many = keys.length > 1;
  input.value = many ? "" : (keys[0] ?? "");
  searchForm.elements.keys.value = many ? keys.join("\n") : "";
  searchForm.elements.prefix.value = prefix;
  searchForm.elements.tag.value = tag;
  searchForm.elements.extract.value = extract;
  if (many || prefix || tag || extract) at("more").open = true;
}

// ---- the parts

const picture = makePicture({
  canvas: at("picture"),
  says: at("picture-says"),
  summary: at("picture-summary"),
  open: (name) => { location.hash = withSet(name); },
});
const search = makeSearch({
  place: at("answer-names"),
  below: at("answer-below"),
  summary: at("answer-summary"),
  cost: at("answer-cost"),
  mark: picture.mark,
  link: withSet,
  report,
});
const sets = makeSets({
  form: at("sets-form"),
  body: at("sets"),
  says: at("sets-says"),
  before: at("sets-before"),
  next: at("sets-next"),
  link: withSet,
  report,
});
const details = makeDetails({
  dialog: at("details"),
  title: at("details-title"),
  facts: at("details-facts"),
  tags: at("details-tags"),
  commands: at("details-commands"),
  says: at("details-says"),
  buttons: document.querySelectorAll("#details [data-form]"),
  close: () => { location.hash = withSet(""); },
  report,
});
const trace = makeTrace({
  at,
  traceOf: (id, direction) => address({ trace: { ids: [id], direction, depth: null } }),
  searchFor: (id) => address({ keys: [id] }),
  report,
});
const sites = makeSites({ body: at("sites"), table: at("sites-table"), says: at("sites-says"), report });
const figures = makeFigures(at("figures"));

searchForm.addEventListener("submit", (event) => {
  event.preventDefault();
  const { keys, prefix, tag, extract } = searchForm.elements;
  const wanted = [...keysOf(keys.value), ...keysOf(input.value)];
  const hash = address({ keys: wanted, prefix: prefix.value, tag: tag.value, extract: extract.value, set: "" });
  goTo(hash);
});

traceForm.addEventListener("submit", (event) => {
  event.preventDefault();
  const { direction, depth } = traceForm.elements;
  const ids = traceInput.value === "" ? [] : [traceInput.value];
  const most = depth.value === "" ? null : Math.max(0, Math.floor(Number(depth.value)));
  goTo(address({ trace: { ids, direction: direction.value, depth: most } }));
});

traceForm.addEventListener("change", (event) => {
  if (event.target.name !== "direction") return;
  titleTrace();
  if (traceInput.value !== "") traceForm.requestSubmit();
});

function goTo(hash) {
  // The same query may have another answer now.
  current = null;
  if (location.hash === hash || (location.hash === "" && hash === "#")) follow();
  else location.hash = hash;
}

function clearSearch() {
  searchForm.reset();
  if (addressState().keys.length) location.hash = address({ keys: [], set: "" });
  input.focus();
}

// ---- the keyboard

document.addEventListener("keydown", (event) => {
  const typing = event.target.closest("input, select, textarea");
  if (event.ctrlKey || event.metaKey || event.altKey || at("details").open) return;
  const tracing = document.body.dataset.view === "trace";
  if (event.key === "/" && !typing && !at("content").hidden) {
    event.preventDefault();
    const box = tracing ? traceInput : input;
    box.focus();
    box.select();
  } else if (event.key === "Escape" && tracing) {
    if (trace.picked()) trace.unpick();
    else traceInput.focus();
  } else if (event.key === "Escape" && !at("content").hidden) {
    clearSearch();
  } else if (event.key === "ArrowDown" && event.target === input) {
    const first = at("answer-names").querySelector("a, summary");
    if (first) event.preventDefault();
    first?.focus();
  } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    step(event, event.key === "ArrowDown" ? 1 : -1);
  } else if (event.key === "Enter" && event.target.id === "keys-input" && event.shiftKey) {
    event.preventDefault();
    searchForm.requestSubmit();
  }
});

/** Up and down a list of sets; up from the first goes back to the search. */
function step(event, by) {
  const list = event.target.closest("[data-arrows]");
  if (!list || event.target.tagName !== "A") return;
  const links = [...list.querySelectorAll("a")];
  const next = links.indexOf(event.target) + by;
  event.preventDefault();
  if (next < 0 && list.closest("#answer-names")) input.focus();
  else links[Math.max(0, Math.min(links.length - 1, next))].focus();
}

// ---- the state of the server

let timer = 0;
let seen = "";
let seenAt = 0;
let lost = false; // whether a query may not have been answered

/** An error anywhere: a missing access key or server concerns the whole page. */
function report(error) {
  if (error.status === 401) wantKey(error.message);
  else if (error.status === 0) lose();
}

function lose() {
  lost = true;
  at("alarm").textContent = "The server cannot be reached. Retrying every two seconds; what you see may be out of date.";
  at("alarm").hidden = false;
  at("state").textContent = "not connected";
  document.body.dataset.state = "lost";
}

async function poll() {
  clearTimeout(timer);
  if (document.hidden || document.body.dataset.state === "key") return;
  try {
    const state = await get("/v1/status");
    showState(state);
  } catch (error) {
    if (error.status === 401) return wantKey(error.message);
    figures.add(null, performance.now() / 1000);
    if (error.status === 0) lose();
    else tellTrouble(error);
  }
  clearTimeout(timer);
  timer = setTimeout(poll, EVERY);
}

function tellTrouble(error) {
  lost = true;
  at("alarm").textContent = error.message;
  at("alarm").hidden = false;
  document.body.dataset.state = "trouble";
}

function showState(state) {
  const now = performance.now();
  at("alarm").hidden = true;
  document.body.dataset.state = "live";
  at("state").textContent = `${plural(state.sets, "set")} · ${bytes(state.bytes)} of filters · up ${duration(state.uptime)}`;
  at("program").textContent = `Bloomgrove ${state.program}`;
  figures.add(state, now / 1000);
  showExamples(at("examples"), state.examples ?? [], (one) => address({ keys: [one] }));
  showExamples(at("trace-examples"), state.traces ?? [], (one) => address({ trace: { ids: [one], direction: WAYS[0], depth: null } }));
  if (document.body.dataset.view === "trace") sites.load();
  showSegments(state.segments);
  const mark = `${state.sets} ${state.version} ${state.totals.changes}`;
  if (lost || (mark !== seen && (now - seenAt > REDRAW_EVERY || seen === ""))) {
    const back = lost;
    seen = mark;
    seenAt = now;
    lost = false;
    reload(back);
  }
}

async function reload(askAgain) {
  sets.load();
  try {
    picture.show(await get(`/v1/picture?cells=${CELLS}`));
  } catch (error) {
    report(error);
  }
  if (!askAgain) return;
  current = null;
  follow();
}

function showExamples(place, keys, link) {
  const links = keys.slice(0, 3);
  place.hidden = links.length === 0;
  if (place.dataset.keys === JSON.stringify(links)) return;
  place.dataset.keys = JSON.stringify(links);
  place.replaceChildren("Try ", ...links.flatMap((one) => [element("a", { href: link(one) }, one), " "]));
}

function showSegments(segments) {
  const place = at("segments");
  place.hidden = segments.length === 0;
  if (!place.open && place.dataset.made) return;
  place.dataset.made = "yes";
  place.querySelector("ul").replaceChildren(
    ...segments.map((one) =>
      element(
        "li",
        {},
        element("strong", {}, `${plural(one.sets, "set")}, ${one.shape}`),
        `: ${count(one.bits)} bits, ${plural(one.hashes, "hash function")}, ${bytes(one.bytes)}, ${share(one.density)} of bits set; ${one.reason}`,
      ),
    ),
  );
}

// ---- the key

function wantKey(why) {
  clearTimeout(timer);
  const again = key.get() !== null;
  key.forget();
  document.body.dataset.state = "key";
  at("state").textContent = "locked";
  at("alarm").hidden = !again;
  if (again) at("alarm").textContent = why;
  at("content").hidden = true;
  at("forget-key").hidden = true;
  details.hide();
  if (!at("key-form").hidden) return;
  at("key-form").hidden = false;
  at("access-key").focus();
}

at("key-form").addEventListener("submit", (event) => {
  event.preventDefault();
  key.set(at("access-key").value.trim());
  at("access-key").value = "";
  unlock();
});

at("forget-key").addEventListener("click", () => {
  key.forget();
  // Everything that the access key gave access to is removed with it.
  location.reload();
});

async function unlock() {
  try {
    await get("/v1/status");
  } catch (error) {
    if (error.status === 401) return wantKey(error.message);
  }
  at("key-form").hidden = true;
  at("content").hidden = false;
  start();
  (document.body.dataset.view === "trace" ? traceInput : input).focus();
}

function start() {
  at("forget-key").hidden = key.get() === null;
  document.body.dataset.state = "live";
  seen = "";
  current = null;
  follow();
  poll();
}

window.addEventListener("hashchange", follow);
document.addEventListener("visibilitychange", poll);
start();
