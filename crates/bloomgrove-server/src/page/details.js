// One set: its filter, its false-positive rate, and how to download it.

import { download, get, key, setPath } from "./server.js";
import { bytes, count, element, fillBar, figure, items, moment, nameOf, plural } from "./words.js";

export function makeDetails({ dialog, title, facts, tags, commands, says, buttons, close, report }) {
  let shown = null;

  async function open(name) {
    if (shown === name) return;
    shown = name;
    title.replaceChildren(nameOf(name));
    facts.replaceChildren();
    tags.replaceChildren();
    commands.replaceChildren();
    says.textContent = "";
    if (!dialog.open) dialog.showModal();
    dialog.scrollTop = 0;
    try {
      const set = await get(setPath(name));
      if (shown === name) show(set);
    } catch (error) {
      if (shown === name) says.textContent = error.message;
      report(error);
    }
  }

  function hide() {
    shown = null;
    if (dialog.open) dialog.close();
  }

  function show(set) {
    const { params } = set;
    const kind = [params.layout ?? "standard", params.derivation ?? "independent", params.family ?? "xxh3", `seed ${params.seed ?? 0}`];
    const rows = [
      ["Items", `${set.items === null ? "" : "about "}${items(set.items)}`],
      ["False-positive rate", set.expected_fpr > 0 ? `${figure(set.expected_fpr)} (one in ${count(1 / set.expected_fpr)})` : "0: the set is empty"],
      ["Filter", `${count(params.bits)} bits (${bytes(set.bytes)}), ${plural(params.hashes, "hash function")}`],
      ["Parameters", kind.join(", ")],
      ["Bits set", fillBar(set.fill)],
      ["Version", count(set.version)],
      ["Created", moment(set.created)],
      ["Changed", moment(set.changed)],
    ];
    if (set.expires) rows.push(["Expires", moment(set.expires)]);
    facts.replaceChildren(...rows.map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value))));
    tags.replaceChildren(...set.tags.map((tag) => element("li", { class: "tag" }, nameOf(tag))));
    showCommands(set.name);
  }

  function showCommands(name) {
    const address = `'${location.origin}${setPath(name)}`;
    // The access key itself is never written out: commands get pasted elsewhere.
    const header = key.get() ? ' -H "Authorization: Bearer $BLOOMGROVE_KEY"' : "";
    const lines = [
      ["Show its properties", `curl${header} ${address}'`],
      ["Download its filter", `curl${header} -o ${file(name, "grove")} ${address}/filter?form=grove'`],
      ["Add two keys", `printf 'one-key\\nanother-key\\n' | curl${header} -H 'Content-Type: text/plain' --data-binary @- ${address}/items'`],
    ];
    commands.replaceChildren(...lines.map(([about, line]) => command(about, line)));
  }

  function command(about, line) {
    const copy = element("button", { type: "button", class: "quiet", "aria-label": `Copy: ${about}` }, "Copy");
    copy.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(line);
        says.textContent = "Copied.";
      } catch {
        // Not possible over plain HTTP from elsewhere: then the line is selected for Ctrl+C.
        getSelection().selectAllChildren(code);
        says.textContent = "Selected: copy it with Ctrl+C.";
      }
    });
    const code = element("code", { tabindex: "0", role: "region", "aria-label": about }, line);
    return element("li", {}, element("span", { class: "label" }, about), element("span", { class: "line" }, code, copy));
  }

  /** A file name: the characters of the set's name that every system accepts. */
  function file(name, ending) {
    const plain = name.replace(/[^A-Za-z0-9._-]+/g, "_").replace(/^[._-]+/, "").slice(0, 80);
    return `${plain || "set"}.${ending}`;
  }

  for (const button of buttons) {
    const { form, ending } = button.dataset;
    button.addEventListener("click", async () => {
      const name = shown;
      says.textContent = "Downloading…";
      try {
        const size = await download(`${setPath(name)}/filter?form=${form}`, file(name, ending));
        says.textContent = `Saved ${file(name, ending)}, ${bytes(size)}.`;
      } catch (error) {
        says.textContent = error.message;
        report(error);
      }
    });
  }
  // Esc and the button close it and change the address, so that "back" opens it again.
  dialog.addEventListener("close", () => shown !== null && close());
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  return { open, hide };
}
