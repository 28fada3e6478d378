// Asks the server. The key, if one is needed, lives as long as the tab and is sent only as a header.

const KEPT_AS = "bloomgrove-key";
// A server that says nothing for so long is as good as gone.
const PATIENCE = 15000;

/** What went wrong: `status` 0 when the server cannot be reached, else as HTTP has it. */
export class Trouble extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

export const key = {
  get: () => sessionStorage.getItem(KEPT_AS),
  set: (text) => sessionStorage.setItem(KEPT_AS, text),
  forget: () => sessionStorage.removeItem(KEPT_AS),
};

/** Text as part of an address. Quotes too: such addresses also stand in lines for the shell. */
export function encode(text) {
  return encodeURIComponent(text.toWellFormed?.() ?? text).replace(
    /[!'()*]/g,
    (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

export function setPath(name) {
  return `/v1/sets/${encode(name)}`;
}

async function ask(path, options = {}) {
  const headers = new Headers(options.headers);
  if (key.get()) headers.set("Authorization", `Bearer ${key.get()}`);
  const signals = [AbortSignal.timeout(PATIENCE)];
  if (options.signal) signals.push(options.signal);
  let answer;
  try {
    answer = await fetch(path, { ...options, headers, cache: "no-store", signal: AbortSignal.any(signals) });
  } catch (error) {
    if (options.signal?.aborted) throw error;
    throw new Trouble(0, "The server cannot be reached.");
  }
  if (answer.ok) return answer;
  const problem = await answer.json().catch(() => ({}));
  throw new Trouble(answer.status, problem.detail || `The server answers ${answer.status}.`);
}

async function read(answer, as) {
  try {
    return await answer[as]();
  } catch {
    throw new Trouble(0, "The server went away while it answered.");
  }
}

export async function get(path, options) {
  return read(await ask(path, options), "json");
}

export async function post(path, body, options = {}) {
  const headers = { "Content-Type": "application/json" };
  const answer = await ask(path, { ...options, method: "POST", headers, body: JSON.stringify(body) });
  return read(answer, "json");
}

/** Fetches a file and hands it to the browser to keep. */
export async function download(path, file) {
  const blob = await read(await ask(path), "blob");
  const address = URL.createObjectURL(blob);
  const link = document.createElement("a");
  link.href = address;
  link.download = file;
  link.click();
  // The browser needs it until it has begun to save.
  setTimeout(() => URL.revokeObjectURL(address), 60000);
  return blob.size;
}

/** Query parameters that are not empty, with the question mark. */
export function query(parameters) {
  const given = Object.entries(parameters).filter(([, value]) => value !== "" && value !== undefined && value !== null);
  return given.length ? `?${given.map(([name, value]) => `${name}=${encode(String(value))}`).join("&")}` : "";
}
