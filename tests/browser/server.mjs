// Starts the real server in its own directory.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";

const program = process.env.PROGRAM;
assert.ok(program, "PROGRAM is not set: start the tests with run.sh");

export class Server {
  /** With `key`, nobody may do anything without it. */
  static async start({ key, demo = true } = {}) {
    const server = new Server();
    server.key = key;
    server.demo = demo;
    server.folder = await mkdtemp(join(tmpdir(), "bloomgrove-page-"));
    server.listen = "127.0.0.1:0";
    await server.run();
    return server;
  }

  async run() {
    const options = ["serve", "--data", join(this.folder, "data"), "--listen", this.listen];
    if (this.demo) options.push("--demo");
    if (this.key) {
      const sha256 = createHash("sha256").update(this.key).digest("hex");
      const config = join(this.folder, "server.toml");
      await writeFile(config, `[[keys]]\nname = "test"\nrole = "admin"\nsha256 = "${sha256}"\n`);
      options.push("--config", config);
    }
    this.process = spawn(program, options, { stdio: ["ignore", "pipe", "pipe"] });
    let complaints = "";
    this.process.stderr.on("data", (bytes) => { complaints += bytes; });
    this.ended = new Promise((resolve) => this.process.on("exit", resolve));
    const address = await new Promise((resolve, reject) => {
      createInterface({ input: this.process.stdout }).on("line", (line) => {
        const found = /listening on (http:\/\/\S+)/.exec(line);
        if (found) resolve(found[1]);
      });
      this.process.on("error", reject);
      this.ended.then((code) => reject(new Error(`the server ended with ${code}: ${complaints}`)));
    });
    this.address = address;
    // Started again, it is found where it was.
    this.listen = new URL(address).host;
    while (!(await fetch(`${address}/readyz`)).ok) await sleep(20);
    // Its sites publish theirs a moment later.
    while (this.demo && (await this.sets()) < 1020) await sleep(50);
  }

  async sets() {
    const headers = this.key ? { authorization: `Bearer ${this.key}` } : {};
    return (await (await fetch(`${this.address}/v1/status`, { headers })).json()).sets;
  }

  /** Ends the process, as a crash would. */
  async crash() {
    this.process.kill("SIGKILL");
    await this.ended;
  }

  async stop() {
    if (this.process.exitCode === null && this.process.signalCode === null) await this.crash();
    await rm(this.folder, { recursive: true, force: true });
  }

  async send(method, path, body, type = "application/json") {
    const headers = { "Content-Type": type };
    if (this.key) headers.Authorization = `Bearer ${this.key}`;
    const answer = await fetch(this.address + path, { method, headers, body });
    assert.ok(answer.ok, `${method} ${path}: ${answer.status} ${await answer.clone().text()}`);
    return answer;
  }
}
