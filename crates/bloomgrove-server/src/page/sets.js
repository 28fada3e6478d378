// The table of sets: filtered by prefix and by tag, page by page.

import { get, query } from "./server.js";
import { ago, bytes, count, element, fillBar, items, nameOf, plural } from "./words.js";

const PAGE = 20;

export function makeSets({ form, body, says, before, next, link, report }) {
  // The `after` of each page up to this one: the server only supports going forward.
  let pages = [""];
  let following = null;
  let running = null;

  function filters() {
    return { prefix: form.elements.prefix.value, tag: form.elements.tag.value };
  }

  async function load() {
    running?.abort();
    const mine = new AbortController();
    running = mine;
    try {
      const path = `/v1/sets${query({ ...filters(), after: pages.at(-1), limit: PAGE })}`;
      const list = await get(path, { signal: mine.signal });
      // The page may be empty by now, if sets were removed.
      if (!list.sets.length && pages.length > 1) {
        pages.pop();
        return await load();
      }
      show(list);
    } catch (error) {
      if (mine.signal.aborted) return;
      says.textContent = error.message;
      report(error);
    }
  }

  function show(list) {
    following = list.next ?? null;
    body.replaceChildren(...list.sets.map(row));
    before.disabled = pages.length === 1;
    next.disabled = following === null;
    const { prefix, tag } = filters();
    const first = (pages.length - 1) * PAGE + 1;
    const range = `${count(first)} to ${count(first + list.sets.length - 1)}`;
    if (!list.sets.length) says.textContent = prefix || tag ? "No sets match." : "There are no sets yet.";
    else if (prefix || tag) says.textContent = `${range} of the matching sets; ${plural(list.total, "set")} in total`;
    else says.textContent = `${range} of ${plural(list.total, "set")}`;
  }

  function row(set) {
    const tags = element("span", { class: "tags" }, ...set.tags.map(tagButton));
    return element(
      "tr",
      {},
      element("th", { scope: "row" }, element("a", { href: link(set.name) }, nameOf(set.name)), tags),
      element("td", { class: "number" }, items(set.items)),
      element("td", { class: "number wide" }, bytes(set.bytes)),
      element("td", {}, fillBar(set.fill)),
      element("td", { class: "number wide" }, count(set.version)),
      element("td", { class: "wide" }, ago(set.changed)),
    );
  }

  function tagButton(tag) {
    const button = element("button", { type: "button", class: "tag", title: "Only sets with this tag" }, nameOf(tag));
    button.addEventListener("click", () => {
      form.elements.tag.value = tag;
      again();
      form.elements.tag.focus();
    });
    return button;
  }

  function again() {
    pages = [""];
    return load();
  }

  let pause = 0;
  form.addEventListener("input", () => {
    clearTimeout(pause);
    pause = setTimeout(again, 200);
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    clearTimeout(pause);
    again();
  });
  form.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !event.target.value) return;
    event.target.value = "";
    event.stopPropagation();
    again();
  });
  next.addEventListener("click", () => {
    if (following === null) return;
    pages.push(following);
    load();
  });
  before.addEventListener("click", () => {
    if (pages.length === 1) return;
    pages.pop();
    load();
  });
  return { load };
}
