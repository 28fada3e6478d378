// The search: which sets may contain these keys, and what the answer cost.

import { post } from "./server.js";
import { count, element, figure, nameOf, plural } from "./words.js";

// The number of names that are requested, and shown before "Show all".
const NAMES = 5000;
const SHOWN = 60;

/** One key per line, without the blanks around it, which are rarely meant when a key is pasted. Empty lines are ignored. */
export function keysOf(text) {
  return text.split(/\r?\n/).map((line) => line.trim()).filter((line) => line !== "");
}

export function makeSearch({ place, below, summary, cost, mark, link, report }) {
  let running = null;
  // Not every browser shows a scrollbar before one scrolls. The button keeps its place, so that nothing moves under the mouse.
  const hint = () => {
    below.disabled = place.scrollHeight - place.clientHeight - place.scrollTop < 8;
  };
  place.addEventListener("scroll", hint, { passive: true });
  new ResizeObserver(hint).observe(place);
  new MutationObserver(hint).observe(place, { childList: true, subtree: true, attributes: true });
  below.addEventListener("click", () => place.scrollBy({ top: place.clientHeight * 0.8 }));

  function clear() {
    running?.abort();
    place.replaceChildren();
    cost.replaceChildren();
    cost.hidden = true;
    summary.textContent = "";
    mark(null);
  }

  async function run({ keys, prefix, tag, extract }) {
    running?.abort();
    const mine = new AbortController();
    running = mine;
    summary.textContent = "Searching…";
    place.setAttribute("aria-busy", "true");
    const request = { keys, limit: NAMES, explain: true };
    if (prefix) request.prefix = prefix;
    if (tag) request.tag = tag;
    if (extract) request.extract = extract;
    try {
      const answer = await post("/v1/which", request, { signal: mine.signal });
      show(keys, answer, { prefix, tag });
    } catch (error) {
      if (mine.signal.aborted) return;
      clear();
      summary.textContent = `The search failed: ${error.message}`;
      report(error);
    } finally {
      if (running === mine) place.removeAttribute("aria-busy");
    }
  }

  function show(keys, { answers, cost: spent }, { prefix, tag }) {
    const all = spent?.sets ?? 0;
    mark(answers.flatMap((answer) => answer.sets ?? []));
    const only = [tag && ["tagged ", nameOf(tag)], prefix && ["named ", nameOf(prefix), "…"]].filter(Boolean);
    const among = only.flatMap((words, at) => [at ? " and " : " ", ...words]);
    if (keys.length === 1) {
      summary.replaceChildren(...sentence(keys[0], answers[0].count, all, among));
      place.replaceChildren(list(answers[0]));
    } else {
      const found = answers.filter((answer) => answer.count > 0).length;
      summary.replaceChildren(
        element("strong", {}, `${count(found)} of ${plural(keys.length, "key")}`),
        " may be in at least one of ", plural(all, "set"), ...among, found < keys.length ? `. No set contains the other ${count(keys.length - found)}.` : ".",
      );
      place.replaceChildren(...keys.map((key, at) => ofOne(key, answers[at])));
    }
    showCost(spent, keys.length);
  }

  function sentence(key, found, all, among) {
    const rest = Math.max(0, all - found);
    if (all === 0) return ["There are no sets to search", ...among, "."];
    if (found === 0) {
      return [element("strong", {}, "No set"), ...among, " contains ", nameOf(key), `. ${all === 1 ? "The only filter rules" : `All ${count(all)} filters rule`} it out with certainty.`];
    }
    const others = rest === 1 ? "The other one does not." : `The other ${count(rest)} do not.`;
    return [
      element("strong", {}, `${count(found)} of ${plural(all, "set")}`),
      ...among, " may contain ", nameOf(key), ". ", rest ? others : "",
    ];
  }

  function list({ count: found, sets = [] }) {
    const items = element("ul", { class: "names", "data-arrows": "" });
    const box = element("div", {}, items);
    const add = (until) => {
      for (const name of sets.slice(items.children.length, until)) {
        items.append(element("li", {}, element("a", { href: link(name) }, nameOf(name))));
      }
    };
    add(SHOWN);
    if (sets.length > SHOWN) {
      const more = element("button", { type: "button", class: "quiet" }, `Show all ${count(sets.length)}`);
      more.addEventListener("click", () => {
        const next = items.children.length;
        add(sets.length);
        more.remove();
        items.children[next].firstChild.focus();
      });
      box.append(more);
    }
    if (found > sets.length) box.append(element("p", { class: "note" }, `The first ${count(sets.length)} by name, of ${count(found)}.`));
    return box;
  }

  function ofOne(key, answer) {
    const words = answer.count === 0 ? "in no set" : `possibly in ${plural(answer.count, "set")}`;
    if (answer.count === 0) return element("p", { class: "one-key none" }, nameOf(key), element("span", { class: "note" }, words));
    const names = element("details", { class: "one-key" }, element("summary", {}, nameOf(key), element("span", { class: "note" }, words)));
    // Thousands of keys with thousands of names: created when opened.
    names.addEventListener("toggle", () => names.children.length === 1 && names.append(list(answer)));
    return names;
  }

  function showCost(spent, keys) {
    cost.hidden = !spent;
    if (!spent) return;
    const wrong = spent.expected_false;
    const facts = [
      ["Filters tested", count(spent.filters_tested), keys > 1 ? `for ${plural(keys, "key")}` : "a summary can rule out the others"],
      ["Words read", count(spent.words_read), "64 bits each"],
      ["Time", `${figure(spent.microseconds)} µs`, "for the search on the server"],
      ["False positives", figure(wrong), "expected for a key that is in none of the sets"],
    ];
    cost.replaceChildren(
      ...facts.map(([name, value, note]) =>
        element("div", {}, element("dt", {}, name), element("dd", {}, element("span", { class: "value" }, value), element("span", { class: "note" }, note))),
      ),
    );
  }

  return { run, clear };
}
