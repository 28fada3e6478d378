// Chromium, and pages that remember everything that goes wrong in them.

import assert from "node:assert/strict";
import { mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";

import puppeteer from "puppeteer-core";

const PATIENCE = 15000;
const axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const temporary = await mkdtemp(join(tmpdir(), "bloomgrove-browser-"));
const pictures = process.env.SCREENSHOTS || temporary;
export const downloads = join(temporary, "downloads");
await mkdir(downloads);
await mkdir(pictures, { recursive: true });

const browser = await puppeteer.launch({
  executablePath: process.env.CHROMIUM,
  // Chromium's sandbox refuses to run as root, as tests in containers do. Grey edges of letters
  // make smaller pictures than coloured ones.
  args: ["--disable-lcd-text", ...(process.getuid() === 0 ? ["--no-sandbox"] : [])],
});

export async function close() {
  await browser.close();
  await rm(temporary, { recursive: true, force: true });
}

async function standIn(page, answers) {
  await page.setRequestInterception(true);
  page.on("request", async (request) => {
    const answer = answers[`${request.method()} ${new URL(request.url()).pathname}`];
    if (!answer) return request.continue();
    try {
      const { status = 200, body } = await answer(request.postData() && JSON.parse(request.postData()));
      await request.respond({ status, contentType: "application/json", body: JSON.stringify(body) });
    } catch {
      // The page has given up waiting, or is gone and the server with it.
      await request.abort().catch(() => {});
    }
  });
}

/**
 * A page of its own, with nothing kept from others. `answers` stands in for the server where it is
 * asked so: `"GET /v1/sites": (body) => ({ status, body })`.
 */
export async function open(address, { width = 1280, height = 900, dark = false, answers = null } = {}) {
  const context = await browser.createBrowserContext({
    downloadBehavior: { policy: "allow", downloadPath: downloads },
  });
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE);
  const wrong = [];
  const allowed = [];
  page.on("console", (message) => {
    if (["error", "warn", "assert"].includes(message.type())) wrong.push(`${message.text()} (${message.location().url})`);
  });
  page.on("pageerror", (error) => wrong.push(String(error)));
  page.on("dialog", (dialog) => {
    wrong.push(`a script of others ran: ${dialog.message()}`);
    dialog.dismiss();
  });
  await page.evaluateOnNewDocument(() => {
    addEventListener("securitypolicyviolation", (event) => {
      console.error(`forbidden by ${event.violatedDirective}: ${event.blockedURI} ${event.sample}`);
    });
  });
  if (answers) await standIn(page, answers);
  await page.setViewport({ width, height });
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: dark ? "dark" : "light" }]);
  await page.goto(address);
  return Object.assign(page, {
    /** What the console may say in this test. */
    allow: (pattern) => allowed.push(pattern),
    /** Ends the test of this page: nothing may have gone wrong in it. */
    async done() {
      await context.close();
      assert.deepEqual(wrong.filter((text) => !allowed.some((pattern) => pattern.test(text))), []);
    },
    /** Waits until `selector` has text that fits, and gives it. */
    async says(selector, pattern) {
      const fits = (sought, source, flags) => {
        const text = document.querySelector(sought)?.textContent ?? "";
        return new RegExp(source, flags).test(text) && text;
      };
      try {
        const text = await page.waitForFunction(fits, {}, selector, pattern.source, pattern.flags);
        return await text.jsonValue();
      } catch {
        const text = await page.evaluate((sought) => document.querySelector(sought)?.textContent, selector);
        assert.fail(`${selector} says ${JSON.stringify(text)}, not ${pattern}`);
      }
    },
    texts: (selector) => page.$$eval(selector, (all) => all.map((one) => one.textContent)),
    focused: () => page.evaluate(() => document.activeElement.id || document.activeElement.textContent),
    ready: () => page.waitForFunction(() => document.querySelector("#sets tr") && Number(document.querySelector("#picture").dataset.cells)),
    marked: (count) => page.waitForFunction((wanted) => document.querySelector("#picture").dataset.marked === wanted, {}, String(count)),
    /** Types over what is there. */
    async fill(selector, text) {
      await page.click(selector);
      await page.$eval(selector, (input) => input.select());
      if (text) await page.type(selector, text);
      else await page.keyboard.press("Backspace");
    },
    async screenshot_as(name) {
      // The pointer leaves no trace, and shadows cost more bytes than they are worth.
      await page.mouse.move(0, 0);
      await page.evaluate(() => document.documentElement.style.setProperty("--shadow", "none"));
      const picture = await page.screenshot({ path: join(pictures, `${name}.png`) });
      if (process.env.SCREENSHOTS) assert.ok(picture.length < 200_000, `${name}.png has ${picture.length} bytes`);
    },
    /** Nothing stands out to the right of the window. */
    async fits() {
      const beyond = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      assert.equal(beyond, 0, "wider than the window");
    },
    /** What axe has to say about accessibility: nothing. */
    async accessible() {
      // Not as an element of the page, whose policy would forbid it.
      await page.evaluate(axe);
      const found = await page.evaluate(async () => {
        const { violations } = await globalThis.axe.run();
        return violations.map((one) => `${one.id}: ${one.help}: ${one.nodes.map((node) => node.html).join(" ").slice(0, 300)}`);
      });
      assert.deepEqual(found, []);
    },
  });
}
