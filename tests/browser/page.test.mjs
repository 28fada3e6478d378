// The page with the demo's data, as somebody meets it who has just started the server.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { close, open } from "./browser.mjs";
import { Server } from "./server.mjs";

let server;
before(async () => { server = await Server.start(); });
after(async () => {
  await server?.stop();
  await close();
});

test("a newcomer clicks an example and sees which sets contain it", async () => {
  const page = await open(server.address);
  await page.ready();
  await page.says("#state", /^1,020 sets · \d\.\d+ MB of filters · up /);
  assert.deepEqual(await page.texts("#examples a"), ["doc-00042", "doc-09042", "doc-99999"]);
  await page.click("#examples a");
  await page.says("#answer-summary", /^13 of 1,020 sets may contain doc-00042\. The other 1,007 do not\.$/);
  const names = await page.texts("#answer-names a");
  assert.equal(names.length, 13);
  // Where not all of them fit, that is visible, and the button leads to the last.
  const below = () => page.$eval("#answer-below", (button) => !button.disabled);
  const last = () => page.$eval("#answer-names", (box) => box.scrollHeight - box.clientHeight - box.scrollTop < 8);
  assert.equal(await below(), !(await last()));
  while (await below()) {
    await page.click("#answer-below");
    await new Promise((done) => setTimeout(done, 100));
  }
  assert.ok(await last());
  assert.ok(names.includes("galway/orders/2026-11-06"));
  await page.marked(13);
  await page.says("#picture-summary", /1,020 sets in 1,020 cells.* 13 cells may contain the key\.$/);
  const cost = await page.texts("#answer-cost dt");
  assert.deepEqual(cost, ["Filters tested", "Words read", "Time", "False positives"]);
  const [tested, words, time, wrong] = await page.texts("#answer-cost .value");
  assert.ok(Number(tested.replace(",", "")) <= 1020, tested);
  assert.match(words, /^[1-9][\d,]*$/);
  assert.match(time, /^[\d.,]+ µs$/);
  assert.ok(Number(wrong) > 0 && Number(wrong) < 1, wrong);
  await page.done();
});

test("a search stands in the address, and back and forward work", async () => {
  const page = await open(`${server.address}/#key=doc-00042`);
  await page.says("#answer-summary", /^13 of/);
  assert.equal(await page.$eval("#key-input", (input) => input.value), "doc-00042");
  await page.ready();
  await page.marked(13);
  // Blanks around a key that was pasted are dropped.
  await page.fill("#key-input", " doc-99999\t");
  await page.click("#search-form button");
  await page.says("#answer-summary", /^No set contains doc-99999\. All 1,020 filters rule it out with certainty\.$/);
  await page.marked(0);
  assert.equal(new URL(page.url()).hash, "#key=doc-99999");
  await page.goBack();
  await page.says("#answer-summary", /^13 of/);
  assert.equal(await page.$eval("#key-input", (input) => input.value), "doc-00042");
  await page.goForward();
  await page.says("#answer-summary", /^No set/);
  // Signs that mean something in an address come through.
  await page.fill("#key-input", "a+b & c=d #é%20");
  await page.keyboard.press("Enter");
  await page.says("#answer-summary", /contains a\+b & c=d #é%20\./);
  await page.reload();
  await page.says("#answer-summary", /contains a\+b & c=d #é%20\./);
  await page.done();
});

test("everything can be done by keyboard", async () => {
  const page = await open(server.address);
  await page.ready();
  await page.keyboard.press("/");
  assert.equal(await page.focused(), "key-input");
  await page.keyboard.type("doc-09042");
  await page.keyboard.press("Enter");
  const said = await page.says("#answer-summary", /^\d+ of 1,020 sets/);
  const count = parseInt(said, 10);
  assert.ok(count > 200, said);
  await page.marked(count);
  await page.keyboard.press("ArrowDown");
  const names = await page.texts("#answer-names a");
  assert.equal(await page.focused(), names[0]);
  await page.keyboard.press("ArrowDown");
  assert.equal(await page.focused(), names[1]);
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("ArrowUp");
  assert.equal(await page.focused(), "key-input");
  // A set opens with Enter and closes with Esc, and the search is still there.
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.waitForSelector("#details[open]");
  await page.says("#details-facts", /False-positive rate/);
  await page.keyboard.press("Escape");
  await page.waitForSelector("#details:not([open])");
  await page.says("#answer-summary", /^\d+ of 1,020 sets/);
  await page.waitForFunction(() => !location.hash.includes("set="));
  // A slash in a text is a slash.
  await page.focus("#sets-prefix");
  await page.keyboard.type("galway/");
  assert.equal(await page.$eval("#sets-prefix", (input) => input.value), "galway/");
  await page.focus("#key-input");
  await page.keyboard.press("Escape");
  await page.marked(0);
  assert.equal(await page.$eval("#key-input", (input) => input.value), "");
  assert.equal(await page.focused(), "key-input");
  assert.equal(await page.$eval("#answer-summary", (summary) => summary.textContent), "");
  await page.done();
});

test("long answers are shown in part, and in full on demand", async () => {
  const page = await open(`${server.address}/#key=doc-09042`);
  const count = parseInt(await page.says("#answer-summary", /^\d+ of/), 10);
  assert.equal((await page.texts("#answer-names a")).length, 60);
  await page.click("#answer-names button");
  assert.equal((await page.texts("#answer-names a")).length, count);
  await page.done();
});

test("a set filled by words is found by all words of a key", async () => {
  const send = (method, path, type, body) => fetch(`${server.address}${path}`, { method, headers: { "content-type": type }, body });
  await send("POST", "/v1/sets", "application/json", JSON.stringify({ name: "app.log", items: 100, fpr: 1e-9 }));
  await send("POST", "/v1/sets/app.log/items?extract=tokens", "text/plain", "GET /order/4711 200\n");
  const page = await open(server.address);
  await page.ready();
  await page.click("#more summary");
  await page.select("#search-extract", "tokens");
  await page.fill("#key-input", "Order 4711 ");
  await page.click("#search-form button");
  await page.says("#answer-summary", /^1 of 1,021 sets may contain Order 4711\./);
  assert.deepEqual(await page.texts("#answer-names a"), ["app.log"]);
  assert.equal(new URL(page.url()).hash, "#key=Order%204711&extract=tokens");
  await page.reload();
  await page.says("#answer-summary", /^1 of 1,021 sets may contain Order 4711\./);
  await page.done();
  await send("DELETE", "/v1/sets/app.log");
});

test("many keys are asked at once, among some of the sets", async () => {
  const page = await open(server.address);
  await page.ready();
  await page.click("#more summary");
  await page.type("#keys-input", "doc-00042\ndoc-09042\n\ndoc-99999");
  await page.type("#search-tag", "europe");
  await page.type("#search-prefix", "galway/");
  await page.click("#search-form button");
  await page.says("#answer-summary", /^2 of 3 keys may be in at least one of 84 sets tagged europe and named galway\/…\. No set contains the other 1\.$/);
  const keys = await page.texts("#answer-names .one-key");
  assert.equal(keys.length, 3);
  assert.equal(keys[0], "doc-00042possibly in 8 sets");
  assert.equal(keys[2], "doc-99999in no set");
  await page.click("#answer-names summary");
  await page.waitForFunction(() => document.querySelectorAll("#answer-names a").length === 8);
  const shared = page.url();
  const other = await open(shared);
  await other.says("#answer-summary", /^2 of 3 keys/);
  assert.equal(await other.$eval("#keys-input", (input) => input.value), "doc-00042\ndoc-09042\ndoc-99999");
  await other.done();
  await page.done();
});

test("the map names each cell", async () => {
  const page = await open(`${server.address}/#key=doc-00042`);
  await page.ready();
  await page.marked(13);
  await page.focus("#picture");
  await page.keyboard.press("ArrowRight");
  await page.says("#picture-says", /^bergen\/claims\/2026-11-01 · \d+% of bits set · does not contain the key$/);
  await page.keyboard.press("ArrowRight");
  await page.says("#picture-says", /^bergen\/claims\/2026-11-02 /);
  await page.keyboard.press("End");
  await page.says("#picture-says", /^quito\/permits\/2026-11-14 /);
  await page.keyboard.press("Home");
  await page.keyboard.press("ArrowDown");
  const below = await page.says("#picture-says", /^bergen\/(?!claims\/2026-11-01)/);
  await page.keyboard.press("Enter");
  await page.says("#details-title", new RegExp(`^${below.split(" ")[0]}$`));
  await page.keyboard.press("Escape");
  await page.waitForSelector("#details:not([open])");
  // By pointer: the last cell is in the last row, somewhere to the right.
  const box = await (await page.$("#picture")).boundingBox();
  const says = () => page.$eval("#picture-says", (line) => line.textContent);
  let x = box.x + box.width;
  do {
    x -= 4;
    assert.ok(x > box.x, "no cell in the last row");
    await page.mouse.move(x, box.y + box.height - 8);
  } while (!/^quito\/permits\/2026-11-14 /.test(await says()));
  await page.mouse.click(x, box.y + box.height - 8);
  await page.says("#details-title", /^quito\/permits\/2026-11-14$/);
  await page.done();
});

test("the table goes page by page and can be filtered", async () => {
  const page = await open(server.address);
  await page.ready();
  await page.says("#sets-says", /^1 to 20 of 1,020 sets$/);
  const first = await page.texts("#sets th a");
  assert.equal(first.length, 20);
  assert.equal(first[0], "bergen/claims/2026-11-01");
  assert.ok(await page.$eval("#sets-before", (button) => button.disabled));
  await page.click("#sets-next");
  await page.says("#sets-says", /^21 to 40 of 1,020 sets$/);
  assert.equal((await page.texts("#sets th a"))[0], "bergen/invoices/2026-11-06");
  await page.click("#sets-before");
  await page.says("#sets-says", /^1 to 20/);
  assert.deepEqual(await page.texts("#sets th a"), first);
  await page.type("#sets-prefix", "pune/offers/");
  await page.says("#sets-says", /^1 to 14 of the matching sets; 1,020 sets in total$/);
  assert.ok((await page.texts("#sets th a")).every((name) => name.startsWith("pune/offers/")));
  assert.ok(await page.$eval("#sets-next", (button) => button.disabled));
  await page.type("#sets-tag", "europe");
  await page.says("#sets-says", /^No sets match\.$/);
  await page.keyboard.press("Escape");
  await page.says("#sets-says", /^1 to 14/);
  await page.fill("#sets-prefix", "");
  await page.says("#sets-says", /^1 to 20 of 1,020 sets$/);
  // A tag is a filter too.
  await page.click("#sets .tag");
  await page.says("#sets-says", /of the matching sets/);
  const tag = await page.$eval("#sets-tag", (input) => input.value);
  assert.ok((await page.$$eval("#sets tr", (rows, wanted) => rows.filter((row) => ![...row.querySelectorAll(".tag")].some((one) => one.textContent === wanted)), tag)).length === 0);
  await page.focus("#sets th a");
  await page.keyboard.press("ArrowDown");
  assert.equal(await page.focused(), (await page.texts("#sets th a"))[1]);
  await page.done();
});

test("figures are drawn while the page is looked at, and only then", async () => {
  const page = await open(`${server.address}/#key=doc-00042`);
  await page.ready();
  assert.deepEqual(await page.texts("#figures .label"), ["Keys queried", "Changes", "CPU", "Memory", "Sets"]);
  await page.waitForFunction(() => [...document.querySelectorAll("#figures .curve")].every((curve) => curve.getAttribute("d").includes("L")));
  // Each search is one more key asked, until the next reading of the figures sees it.
  await page.waitForFunction(() => {
    document.querySelector("#search-form").requestSubmit();
    return document.querySelector("#figures .value").textContent !== "0";
  }, { polling: 100 });
  await page.says("#figures li:nth-child(4) .value", /^[\d.]+ [MG]B$/);
  await page.says("#figures li:nth-child(5) .value", /^1,020$/);
  let asked = 0;
  page.on("request", (request) => { asked += request.url().endsWith("/v1/status") ? 1 : 0; });
  const hide = (hidden) => page.evaluate((value) => {
    Object.defineProperty(document, "hidden", { value, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
  }, hidden);
  await page.waitForResponse((response) => response.url().endsWith("/v1/status"));
  await hide(true);
  asked = 0;
  // Longer than from one question to the next.
  await new Promise((resolve) => setTimeout(resolve, 3000));
  assert.equal(asked, 0);
  await hide(false);
  await page.waitForResponse((response) => response.url().endsWith("/v1/status"));
  await page.done();
});

test("changes show without a reload", async () => {
  const page = await open(server.address);
  await page.ready();
  await server.send("POST", "/v1/sets", JSON.stringify({ name: "aachen/new", items: 100 }));
  await page.says("#sets-says", /^1 to 20 of 1,021 sets$/);
  await page.says("#sets tr th a", /^aachen\/new$/);
  await page.waitForFunction(() => document.querySelector("#picture").dataset.cells === "1021");
  await server.send("DELETE", "/v1/sets/aachen%2Fnew");
  await page.says("#sets-says", /^1 to 20 of 1,020 sets$/);
  await page.done();
});

test("wide, narrow, light and dark: it fits, and axe finds nothing", async () => {
  for (const [name, options] of [
    ["search", { width: 1180, height: 920 }],
    ["narrow", { width: 360, height: 740 }],
    ["dark", { dark: true }],
  ]) {
    const page = await open(server.address, options);
    await page.ready();
    await page.fits();
    await page.accessible();
    await page.click("#examples a");
    await page.says("#answer-summary", /^13 of/);
    await page.marked(13);
    if (process.env.SCREENSHOTS && name !== "dark") await traffic(page);
    await page.fits();
    await page.accessible();
    if (name !== "dark") await page.screenshot_as(name);
    const paper = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    assert.equal(paper, options.dark ? "rgb(15, 21, 18)" : "rgb(246, 248, 245)");
    await page.click("#answer-names a");
    await page.says("#details-facts", /False-positive rate/);
    await page.fits();
    await page.accessible();
    if (name === "dark") await page.screenshot_as("set");
    await page.done();
  }
});

/** So that the charts of a picture show something: as many keys as it takes, for twenty seconds. */
async function traffic(page) {
  for (let round = 0; round < 10; round += 1) {
    const keys = Array.from({ length: 300 + 200 * (round % 4) + 90 * (round % 3) }, (_, at) => `doc-${at}`);
    await server.send("POST", "/v1/which", JSON.stringify({ keys, count_only: true }));
    await server.send("POST", "/v1/sets/oslo%2Foffers%2F2026-11-01/items", JSON.stringify({ keys: keys.slice(0, round % 2) }));
    await page.waitForResponse((response) => response.url().endsWith("/v1/status"));
  }
}
