// What others do to the page: names made to harm, servers that want a key or go away. And what is
// taken along from it: files and lines for the shell.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { join } from "node:path";

import { close, downloads, open } from "./browser.mjs";
import { Server } from "./server.mjs";

const KEY = "correct-horse-battery-staple-0123456789";
const HOSTILE = [
  `<img src=x onerror=alert(1)>`,
  `"><script>alert(2)</script>`,
  `'; touch owned; echo '`,
  `$(touch owned)\`touch owned\``,
  `../../etc/passwd`,
  `%2e%2e%2f?key=a&b=c#d`,
  `\u202Egnitirw ot tfel thgir\u202C`,
  `🦊/日本/\uFF5Elate`,
  `constructor`,
  `x`.repeat(500),
];

let server;
before(async () => { server = await Server.start(); });
after(async () => {
  await server?.stop();
  await close();
});

/** The file, once the browser has written it. */
async function saved(file) {
  for (let tries = 0; tries < 150; tries += 1) {
    if (existsSync(join(downloads, file))) return join(downloads, file);
    await sleep(100);
  }
  return assert.fail(`${file} was not saved`);
}

test("a set's filter is downloaded, and is the set's", async () => {
  const page = await open(`${server.address}/#set=galway%2Forders%2F2026-11-06`);
  await page.says("#details-title", /^galway\/orders\/2026-11-06$/);
  await page.says("#details-facts", /38,528 bits \(4\.82 kB\), 12 hash functions/);
  assert.deepEqual(await page.texts("#details-tags li"), ["europe", "orders"]);
  await page.click("#details [data-form=grove]");
  await page.says("#details-says", /^Saved galway_orders_2026-11-06\.grove, [\d.]+ kB\.$/);
  await page.click("#details [data-form=message]");
  await page.says("#details-says", /^Saved galway_orders_2026-11-06\.msg, [\d.]+ kB\.$/);
  const grove = await saved("galway_orders_2026-11-06.grove");
  const message = await saved("galway_orders_2026-11-06.msg");
  const tool = (...words) => execFileSync(process.env.PROGRAM, words, { encoding: "utf8" });
  tool("filter", "expand", message, "-o", join(downloads, "expanded.grove"));
  for (const filter of [grove, join(downloads, "expanded.grove")]) {
    assert.match(tool("filter", "check", filter, "doc-00042"), /doc-00042/);
    assert.throws(() => tool("filter", "check", filter, "doc-99999"), { status: 1 });
  }
  await page.done();
});

test("names and tags of others are text and nothing else", async () => {
  const extra = await Server.start();
  try {
    for (const name of HOSTILE) {
      await extra.send("POST", "/v1/sets", JSON.stringify({ name, items: 10, tags: [name.slice(0, 40), "hostile"] }));
      await extra.send("POST", `/v1/sets/${encodeURIComponent(name)}/items`, "bait", "text/plain");
    }
    for (const width of [1280, 360]) {
      const page = await open(`${extra.address}/#key=bait`, { width, height: 740 });
      await page.ready();
      await page.says("#answer-summary", new RegExp(`^${HOSTILE.length} of 1,030 sets may contain bait`));
      await page.marked(HOSTILE.length);
      assert.deepEqual((await page.texts("#answer-names a")).toSorted(), HOSTILE.toSorted());
      await page.type("#sets-tag", "hostile");
      await page.says("#sets-says", /^1 to 10 of the matching sets/);
      assert.deepEqual((await page.texts("#sets th a")).toSorted(), HOSTILE.toSorted());
      await page.fits();
      for (const name of HOSTILE) {
        const before = new URL(page.url()).hash;
        await page.$$eval("#sets th a", (links, wanted) => links.find((link) => link.textContent === wanted).click(), name);
        await page.waitForFunction((wanted) => document.querySelector("#details-title").textContent === wanted, {}, name);
        await page.says("#details-facts", /Items.*about 1/);
        await page.fits();
        for (const line of await page.texts("#details-commands code")) checkLine(line, `${extra.address}/v1/sets/`, name);
        await page.keyboard.press("Escape");
        await page.waitForFunction((wanted) => location.hash === wanted, {}, before);
      }
      // The page makes none of these; whatever is there came out of a name.
      assert.equal(await page.$$eval("img, iframe, object, script:not([src='/app.js'])", (all) => all.length), 0);
      await page.done();
    }
  } finally {
    await extra.stop();
  }
});

/** Lets a shell read the line, with a `curl` that only says what it was given. */
function checkLine(line, base, name) {
  const script = `curl() { for word; do printf '%s\\0' "$word"; done; }\n${line}`;
  const words = execFileSync("sh", ["-c", script], { encoding: "utf8" }).split("\0").slice(0, -1);
  const address = words.find((word) => word.startsWith("http"));
  assert.ok(address.startsWith(base), line);
  assert.equal(decodeURIComponent(address.slice(base.length).split("/")[0]), name, line);
  assert.ok(!existsSync("owned"), line);
}

test("a server without sets says so", async () => {
  const empty = await Server.start({ demo: false });
  try {
    const page = await open(`${empty.address}/#key=anything`);
    await page.says("#state", /^0 sets/);
    await page.says("#sets-says", /^There are no sets yet\.$/);
    await page.says("#picture-summary", /^There are no sets yet\.$/);
    await page.says("#answer-summary", /^There are no sets to search/);
    assert.ok(await page.$eval("#examples", (examples) => examples.hidden));
    await page.accessible();
    // The first set appears by itself.
    await empty.send("POST", "/v1/sets", JSON.stringify({ name: "first", items: 10 }));
    await page.says("#sets th a", /^first$/);
    await page.done();
  } finally {
    await empty.stop();
  }
});

test("the number of items is unknown if all bits are set", async () => {
  const extra = await Server.start({ demo: false });
  try {
    await extra.send("POST", "/v1/sets", JSON.stringify({ name: "full", params: { bits: 64, hashes: 64 } }));
    const keys = Array.from({ length: 50 }, (_, at) => `key-${at}`);
    await extra.send("POST", "/v1/sets/full/items", JSON.stringify({ keys }));
    const page = await open(`${extra.address}/#set=full`);
    await page.says("#details-facts", /^Itemsunknown/);
    await page.done();
  } finally {
    await extra.stop();
  }
});

test("a set that is gone is said to be gone", async () => {
  const page = await open(`${server.address}/#set=no-such-set`);
  page.allow(/404/);
  await page.says("#details-says", /no-such-set/);
  await page.click("#details form button");
  await page.waitForSelector("#details:not([open])");
  await page.done();
});

test("a server with keys is opened with a key, which stays in the tab", async () => {
  const locked = await Server.start({ key: KEY });
  try {
    const page = await open(`${locked.address}/#key=doc-00042`);
    page.allow(/401/);
    await page.waitForSelector("#key-form:not([hidden])");
    assert.equal(await page.$eval("#content", (content) => content.hidden), true);
    await page.accessible();
    await page.waitForFunction(() => document.activeElement.id === "access-key");
    await page.keyboard.type("wrong");
    await page.keyboard.press("Enter");
    await page.waitForSelector("#alarm:not([hidden])");
    await page.says("#alarm", /key/);
    await page.fill("#access-key", KEY);
    await page.keyboard.press("Enter");
    await page.waitForSelector("#content:not([hidden])");
    // What was asked before is answered now.
    await page.says("#answer-summary", /^13 of 1,020 sets/);
    await page.ready();
    await page.marked(13);
    assert.ok(await page.$eval("#alarm", (alarm) => alarm.hidden));
    await page.reload();
    await page.says("#answer-summary", /^13 of 1,020 sets/);
    const kept = await page.evaluate(() => [Object.values(sessionStorage), Object.values(localStorage), document.cookie, location.href]);
    assert.deepEqual(kept, [[KEY], [], "", `${locked.address}/#key=doc-00042`]);
    // Downloads carry it; lines for the shell do not.
    await page.click("#answer-names a");
    await page.says("#details-facts", /Version/);
    await page.click("#details [data-form=grove]");
    await page.says("#details-says", /^Saved /);
    for (const line of await page.texts("#details-commands code")) {
      assert.ok(line.includes('-H "Authorization: Bearer $BLOOMGROVE_KEY"') && !line.includes(KEY), line);
    }
    await page.keyboard.press("Escape");
    await page.waitForSelector("#details:not([open])");
    await page.click("#forget-key");
    await page.waitForSelector("#key-form:not([hidden])");
    assert.equal(await page.evaluate(() => sessionStorage.length), 0);
    assert.ok(!(await page.content()).includes(KEY));
    await page.done();
  } finally {
    await locked.stop();
  }
});

test("a server that goes away is missed, and found again", async () => {
  const page = await open(`${server.address}/#key=doc-00042`);
  // While it starts, it says so: 503.
  page.allow(/503|ERR_CONNECTION_REFUSED|ERR_CONNECTION_RESET|ERR_EMPTY_RESPONSE|ERR_SOCKET_NOT_CONNECTED/);
  await page.ready();
  await page.says("#answer-summary", /^13 of/);
  await server.crash();
  await page.says("#alarm", /^The server cannot be reached\. Retrying/);
  await page.says("#state", /^not connected$/);
  await page.accessible();
  await page.fill("#key-input", "doc-09042");
  await page.keyboard.press("Enter");
  await page.says("#answer-summary", /^The search failed: The server cannot be reached\.$/);
  await server.run();
  await page.waitForSelector("#alarm[hidden]");
  // The question is still there, and is asked again.
  await page.says("#answer-summary", /^\d{3} of 1,020 sets may contain doc-09042/);
  await page.says("#state", /^1,020 sets/);
  await page.done();
});
