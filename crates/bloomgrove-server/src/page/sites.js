// The table of sites: which are registered, and how current their data is.

import { get } from "./server.js";
import { count, duration, element, nameOf, plural } from "./words.js";

export function makeSites({ body, table, says, report }) {
  async function load() {
    try {
      show((await get("/v1/sites")).sites);
    } catch (error) {
      says.textContent = error.message;
      report(error);
    }
  }

  function show(sites) {
    table.hidden = sites.length === 0;
    const away = sites.filter((site) => !site.online).length;
    const all = plural(sites.length, "site");
    if (sites.length === 0) says.textContent = "No sites are registered yet. “bloomgrove site” starts one.";
    else says.textContent = away ? `${all}, ${count(away)} of them offline. ${away === 1 ? "Its" : "Their"} most recent records may be missing from traces.` : `${all}, all online`;
    body.replaceChildren(...sites.map(row));
  }

  function row(site) {
    const heartbeat = site.last_heartbeat === undefined || site.last_heartbeat === null ? "none since the server started" : `${duration(site.last_heartbeat)} ago`;
    const late = site.pending ? `${count(site.pending)} not yet published` : "all published";
    return element(
      "tr",
      { class: site.online ? null : "trouble" },
      element("th", { scope: "row" }, nameOf(site.name)),
      element("td", {}, element("span", { class: site.online ? "status" : "status lost" }, site.online ? "online" : "offline")),
      element("td", {}, heartbeat),
      element("td", { class: "wide" }, late),
      element("td", { class: "number" }, count(site.sets)),
    );
  }

  return { load };
}
