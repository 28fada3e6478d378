// Traces on the page: the answer is made of files (trace.json, and trace.svg as the server draws
// it), so that every detail of it is known.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";

import { close, open } from "./browser.mjs";
import { Server } from "./server.mjs";

const read = async (name) => readFile(new URL(name, import.meta.url), "utf8");
const trace = { ...JSON.parse(await read("trace.json")), picture: await read("trace.svg") };
const hostile = { ...JSON.parse(await read("hostile.json")), picture: await read("hostile.svg") };
const REPORT = trace.ids[0];
const ADDRESS = `#trace=${encodeURIComponent(REPORT)}`;
const labelled = (label) => trace.nodes.find((node) => node.label === label);

const NAMES = ["bergen", "cadiz", "galway", "lagos", "lima", "oslo", "perth", "pune", "quito", "riga", "sofia", "tromso", "tunis", "windhoek"];
const sites = NAMES.map((name, at) => ({
  name, url: `http://127.0.0.1:${7200 + at}`, last_heartbeat: name === "windhoek" ? 244 : (at * 7) % 9, period: 10,
  pending: name === "pune" ? 12 : 0, online: name !== "windhoek", sets: 1 + (at % 3),
}));

let server;
before(async () => { server = await Server.start(); });
after(async () => {
  await server?.stop();
  await close();
});

/** A page that gets this trace, and what it asked for. */
async function traced(hash, { answer = trace, ...options } = {}) {
  const asked = [];
  const answers = {
    "POST /v1/trace": (body) => {
      asked.push(body);
      return typeof answer === "function" ? answer(body) : { body: { ...answer, ids: body.ids, direction: body.direction ?? "ancestors" } };
    },
    "GET /v1/sites": () => ({ body: { sites } }),
    "GET /v1/status": async () => ({ body: { ...(await (await fetch(`${server.address}/v1/status`)).json()), traces: [REPORT] } }),
  };
  const page = await open(`${server.address}/${hash}`, { answers, ...options });
  return Object.assign(page, {
    asked,
    node: (label) => `#trace-graph [data-node="${trace.nodes.indexOf(labelled(label))}"]`,
    view: () => page.$eval("#trace-graph svg", (drawing) => drawing.getAttribute("viewBox").split(" ").map(Number)),
  });
}

test("a newcomer follows an example and sees where a document comes from", async () => {
  const page = await traced("");
  await page.ready();
  await page.click("#to-trace");
  assert.ok(await page.$eval("#search-view", (view) => view.hidden));
  await page.says("#trace-examples a", new RegExp(`^${REPORT}$`));
  await page.says("#sites-says", /^14 sites, 1 of them offline/);
  await page.click("#trace-examples a");
  await page.says("#trace-summary", /^Annual report 2026 traces back to 46 documents and events, reported by 6 sites\.$/);
  assert.deepEqual(page.asked, [{ ids: [REPORT], direction: "ancestors", picture: true }]);
  assert.equal(new URL(page.url()).hash, ADDRESS);
  // Who is missing stands there by name.
  await page.says("#trace-missing", /^This trace may be incomplete\. tromso: no answer within 1 swindhoek: offline/);
  assert.equal((await page.$$("#trace-graph .node")).length, 47);
  assert.deepEqual(await page.texts("#trace-legend .name"), ["bergen", "cadiz", "galway", "oslo", "pune", "quito"]);
  const cost = await page.texts("#trace-cost > div");
  const { requests, broadcast } = trace.cost;
  const saved = (100 * (1 - requests / broadcast.requests)).toPrecision(3);
  assert.equal(cost[0], `Requests${requests}instead of ${broadcast.requests} when querying all sites (${saved}% fewer)`);
  assert.match(cost[4], /^Rounds4/);
  assert.equal((await page.texts("#trace-queried th")).length, trace.sites.length);
  await page.says("#trace-queried .trouble", /^tromso.*no answer within 1 s$/);
  assert.equal((await page.texts("#trace-nodes tr")).length, 20);
  assert.match((await page.texts("#trace-nodes tr"))[0], /^Annual report 2026urn:uuid:e6b84e1f.*document0.*galway.*oslo/);
  await page.done();
});

test("a trace stands in the address, and back works", async () => {
  const page = await traced("#trace=");
  await page.waitForSelector("#trace-view:not([hidden])");
  await page.type("#trace-input", "a+b & c");
  await page.type("#trace-depth", "3");
  await page.keyboard.press("Enter");
  await page.says("#trace-summary", /^a\+b & c traces back to/);
  assert.equal(new URL(page.url()).hash, "#trace=a%2Bb%20%26%20c&depth=3");
  await page.click("[name=direction][value=descendants]");
  await page.says("#trace-summary", /^a\+b & c led to /);
  await page.says("#trace-title", /^What was made from this document\?$/);
  assert.equal(new URL(page.url()).hash, "#trace=a%2Bb%20%26%20c&way=descendants&depth=3");
  await page.goBack();
  await page.says("#trace-summary", /traces back to/);
  assert.equal(await page.$eval("#trace-form", (form) => form.elements.direction.value), "ancestors");
  await page.reload();
  await page.says("#trace-summary", /^a\+b & c traces back to/);
  assert.equal(await page.$eval("#trace-depth", (input) => input.value), "3");
  assert.deepEqual(page.asked.at(-1), { ids: ["a+b & c"], direction: "ancestors", picture: true, depth: 3 });
  await page.click("#to-search");
  await page.waitForSelector("#search-view:not([hidden])");
  assert.ok(await page.$eval("#trace-view", (view) => view.hidden));
  await page.done();
});

test("a node tells who knows it, who says each link, and leads on", async () => {
  const page = await traced(ADDRESS);
  await page.waitForSelector("#trace-graph .node");
  await page.click(page.node("Figures, pune"));
  await page.says("#trace-node-title", /^Figures, pune$/);
  const { id } = labelled("Figures, pune");
  const facts = await page.$$eval("#trace-node-facts > div", (rows) => rows.map((row) => [...row.children].map((one) => one.textContent.trim())));
  assert.deepEqual(facts.slice(0, 2), [["Id", id], ["Kind", "document"]]);
  assert.match(facts.find(([name]) => name === "Known to")[1], /^Cgalway Epune$/);
  const links = await page.texts("#trace-node-links li");
  assert.equal(links.length, trace.links.filter((link) => link.effect === id || link.cause === id).length);
  assert.ok(links.some((text) => /^generated by .*reported by Epune/.test(text)), links.join("\n"));
  assert.ok(links.some((text) => /used thisreported by Cgalway/.test(text)), links.join("\n"));
  assert.equal(await page.$eval(page.node("Figures, pune"), (node) => node.getAttribute("aria-pressed")), "true");
  assert.equal((await page.$$("#trace-graph .lit")).length, 4);
  // The other end of a link is picked from here.
  await page.click("#trace-node-links .as-link");
  await page.waitForFunction((other) => document.querySelector("#trace-node-facts dd").textContent !== other, {}, id);
  await page.click(page.node("Figures, pune"));
  await page.click("#trace-down");
  await page.waitForFunction((wanted) => location.hash === wanted, {}, `#trace=${encodeURIComponent(id)}&way=descendants`);
  await page.says("#trace-summary", /^Figures, pune led to/);
  assert.deepEqual(page.asked.at(-1), { ids: [id], direction: "descendants", picture: true });
  await page.click(page.node("Figures, pune"));
  await page.click("#trace-which");
  await page.says("#answer-summary", /^No set contains urn:uuid:/);
  await page.done();
});

test("the picture is moved and zoomed by keys, pointer and buttons", async () => {
  const page = await traced(ADDRESS);
  await page.waitForSelector("#trace-graph .node");
  // Let the page settle: on a busy machine, the click once had no effect.
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  const all = await page.view();
  await page.click("[data-zoom=nearer]");
  const nearer = await page.view();
  assert.ok(nearer[2] < all[2]);
  await page.click("[data-zoom=all]");
  const whole = await page.view();
  assert.ok(whole[2] >= 1800, String(whole));
  const box = await (await page.$("#trace-graph")).boundingBox();
  const [x, y] = [box.x + box.width / 2, box.y + 12];
  // A drag moves, and picks nothing.
  await page.mouse.move(x, y);
  await page.mouse.down();
  await page.mouse.move(x + 80, y + 30, { steps: 4 });
  await page.mouse.up();
  const moved = await page.view();
  assert.ok(moved[0] < whole[0] && moved[1] < whole[1] && moved[2] === whole[2], `${whole} ${moved}`);
  assert.ok(await page.$eval("#trace-node", (node) => node.hidden));
  // The wheel is the page's until the picture has the focus.
  await page.focus("#trace-input");
  await page.mouse.wheel({ deltaY: -200 });
  assert.deepEqual(await page.view(), moved);
  await page.evaluate(() => scrollTo(0, 0));
  await page.$eval("#trace-graph [tabindex='0']", (node) => node.focus());
  assert.match(await page.$eval(":focus", (node) => node.getAttribute("aria-label")), /^C Annual report 2026 galway \+1, document, traced$/);
  await page.mouse.move(x, y);
  await page.mouse.wheel({ deltaY: -200 });
  await page.waitForFunction((width) => Number(document.querySelector("#trace-graph svg").getAttribute("viewBox").split(" ")[2]) < width, {}, moved[2]);
  // By keyboard alone: to the left is the event that made it.
  await page.keyboard.press("0");
  assert.deepEqual(await page.view(), whole);
  await page.keyboard.press("ArrowLeft");
  assert.match(await page.$eval(":focus", (node) => node.getAttribute("aria-label")), /^C bundled 2026-11-14, event$/);
  await page.keyboard.press("Enter");
  await page.says("#trace-node-facts", /Kindbundled.*Whom\.byrne/);
  await page.keyboard.press("+");
  await page.keyboard.down("Shift");
  const before = await page.view();
  await page.keyboard.press("ArrowRight");
  await page.keyboard.up("Shift");
  assert.ok((await page.view())[0] > before[0]);
  await page.keyboard.press("Escape");
  assert.ok(await page.$eval("#trace-node", (node) => node.hidden));
  await page.keyboard.press("/");
  assert.equal(await page.focused(), "trace-input");
  await page.done();
});

test("ids, labels and names of others are text and nothing else", async () => {
  for (const width of [1280, 360]) {
    const page = await traced("#trace=x", { answer: () => ({ body: hostile }), width, height: 740 });
    await page.waitForSelector("#trace-graph .node");
    await page.says("#trace-missing", /<b>site<\/b>: <script>alert\(4\)<\/script>/);
    assert.equal((await page.$$("#trace-graph .node")).length, hostile.nodes.length);
    for (const [at, node] of hostile.nodes.entries()) {
      await page.$eval(`#trace-graph [data-node="${at}"]`, (one) => one.dispatchEvent(new MouseEvent("click", { bubbles: true })));
      await page.waitForFunction((id) => document.querySelector("#trace-node-facts dd").textContent === id, {}, node.id);
      await page.fits();
      const hash = await page.$eval("#trace-up", (link) => link.hash);
      assert.equal(decodeURIComponent(hash.slice("#trace=".length)), node.id);
    }
    assert.deepEqual(await page.$$eval("#trace-nodes th", (rows) => rows.length), hostile.nodes.length);
    assert.equal(await page.$$eval("img, iframe, object, script:not([src='/app.js']), b, i, u, s", (all) => all.filter((one) => one.closest("#trace-view") && !one.closest(".legend")).length), 0);
    await page.done();
  }
});

test("a picture with more than a drawing in it is not shown, and the browser never parses it", async () => {
  // What is wrong with each would be drawn, or run, if it were parsed as markup.
  const whole = hostile.picture;
  const pictures = [
    whole.replace("<svg ", '<svg onload="alert(1)" '),
    whole.replace("<rect ", '<rect onclick="alert(2)" '),
    whole.replace("<rect ", '<rect ONCLICK="alert(3)" '),
    whole.replace("<rect ", '<rect style="fill:red" '),
    whole.replace("</svg>", "<script>alert(4)</script></svg>"),
    whole.replace("</svg>", '<a href="javascript:alert(5)"><text>x</text></a></svg>'),
    whole.replace("</svg>", '<foreignObject><img xmlns="http://www.w3.org/1999/xhtml" src="x" onerror="alert(6)"/></foreignObject></svg>'),
    whole.replace("</svg>", '<set attributeName="onclick" to="alert(7)"/></svg>'),
    whole.replace("</svg>", "<!-- --></svg>"),
    whole.replace("</svg>", "<![CDATA[<script>alert(8)</script>]]></svg>"),
    whole.replace("</g>", ""),
    whole.slice(0, -40),
    `<?xml version="1.0"?>${whole}`,
    `<!DOCTYPE svg [<!ENTITY a "<script>alert(9)</script>">]>${whole}`,
    '<html xmlns="http://www.w3.org/1999/xhtml"><body onload="alert(10)"/></html>',
    "no picture at all",
  ];
  const picture = (id) => pictures[Number(id.slice(1))];
  const page = await traced("", { answer: ({ ids }) => ({ body: { ...hostile, ids, picture: picture(ids[0]) } }) });
  for (const [at, one] of pictures.entries()) {
    assert.notEqual(one, whole);
    await page.evaluate((hash) => { location.hash = hash; }, `#trace=x${at}`);
    await page.says("#trace-summary", new RegExp(`^x${at} traces back to`));
    assert.equal((await page.$$("#trace-graph *")).length, 0, one);
    assert.equal((await page.texts("#trace-nodes tr")).length, hostile.nodes.length);
  }
  await page.done();
});

test("pictures are read as XML is", async () => {
  const page = await open(`${server.address}/`);
  for (const { picture } of [trace, hostile]) {
    const same = await page.evaluate(async (text) => {
      const { readDrawing } = await import("/page/drawing.js");
      const parsed = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
      parsed.removeAttribute("xmlns");
      return readDrawing(text).isEqualNode(parsed);
      // Without the style, which the page's policy forbids.
    }, picture.replace(/<style>.*<\/style>/, ""));
    assert.ok(same);
  }
  await page.done();
});

test("what cannot be traced is said", async () => {
  const empty = { ...trace, complete: true, missing: [], nodes: [], links: [], sites: [], picture: "" };
  const nobody = await traced("#trace=nobody", { answer: empty });
  await nobody.says("#trace-summary", /^No site knows nobody\.$/);
  assert.ok(await nobody.$eval("#trace-missing", (banner) => banner.hidden));
  assert.ok(await nobody.$eval("#trace-picture", (picture) => picture.hidden));
  assert.ok(await nobody.$eval("#trace-queried-table", (table) => table.hidden));
  await nobody.accessible();
  await nobody.done();
  const refused = await traced("#trace=x", { answer: () => ({ status: 503, body: { detail: "too many traces at once; try again" } }) });
  refused.allow(/503/);
  await refused.says("#trace-summary", /^The trace failed: too many traces at once; try again$/);
  assert.ok(await refused.$eval("#trace-found", (found) => found.hidden));
  await refused.done();
});

test("the demo: a dozen sites are asked for real, and a click leads on", async () => {
  const listed = async () => (await (await fetch(`${server.address}/v1/sites`)).json()).sites;
  while ((await listed()).filter((site) => site.online && site.sets).length < 12) await sleep(100);
  const page = await open(`${server.address}/`, { width: 1240, height: 930 });
  await page.ready();
  await page.click("#to-trace");
  await page.says("#sites-says", /^12 sites, all online/);
  await page.click("#trace-examples a");
  await page.says("#trace-summary", /^claim 2122 traces back to 45 documents and events, reported by 6 sites\.$/);
  await page.waitForSelector("#trace-graph .node.start");
  await page.fits();
  await page.accessible();
  await page.screenshot_as("trace");
  await page.click('#trace-graph [data-id="contract 1490"]');
  await page.says("#trace-node-title", /^contract 1490$/);
  await page.done();
});

test("long lists are shown in part, and in full on demand", async () => {
  const nodes = Array.from({ length: 120 }, (_, at) => ({ id: `n${at}`, distance: at, sites: ["galway"] }));
  const page = await traced("#trace=n0", { answer: { ...trace, nodes, links: [], ids: ["n0"] } });
  await page.says("#trace-more", /^Show all 120$/);
  assert.equal((await page.texts("#trace-nodes tr")).length, 20);
  await page.click("#trace-more");
  assert.equal((await page.texts("#trace-nodes tr")).length, 120);
  assert.equal(await page.focused(), "n20");
  await page.done();
});

test("wide, narrow, light and dark: traces fit, and axe finds nothing", async () => {
  for (const [name, options] of [
    ["trace", { width: 1240, height: 930 }],
    ["trace-dark", { width: 1240, height: 930, dark: true }],
    ["trace-narrow", { width: 360, height: 740 }],
  ]) {
    const page = await traced(ADDRESS, options);
    await page.waitForSelector("#trace-graph .node");
    await page.says("#state", /^1,020 sets/);
    await page.fits();
    await page.accessible();
    if (name === "trace-narrow") {
      await page.$eval("#trace-picture", (picture) => picture.scrollIntoView());
      await page.screenshot_as(name);
    }
    await page.click(page.node("Annual report 2026"));
    await page.says("#trace-node-title", /^Annual report 2026$/);
    await page.fits();
    await page.accessible();
    if (name === "trace-dark") await page.screenshot_as(name);
    await page.done();
  }
});
