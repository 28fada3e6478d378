// Sends requests to the server. The access key, if required, is kept as long as the tab and is sent only as a header.

const KEPT_AS = "bloomgrove-key";
// A server that does not respond for this long counts as unreachable.
const PATIENCE = 15000;

/** An error: `status` is 0 if the server cannot be reached, otherwise the HTTP status. */
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

/** Text as part of a URL. Encodes quotes, too: such URLs also appear in shell commands. */
export function encode(text) {
  return encodeURIComponent(text.toWellFormed?.() ?? text).replace(
    /[!'()*]/g,
    (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

export function setPath(name) {
  return `/v1/sets/${encode(name)}`;
}

async function send(path, options = {}) {
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
  throw new Trouble(answer.status, problem.detail || `The server responded with status ${answer.status}.`);
}

async function read(answer, as) {
  try {
    return await answer[as]();
  } catch {
    throw new Trouble(0, "The connection was lost during the response.");
  }
}

export async function get(path, options) {
  return read(await send(path, options), "json");
}

export async function post(path, body, options = {}) {
  const headers = { "Content-Type": "application/json" };
  const answer = await send(path, { ...options, method: "POST", headers, body: JSON.stringify(body) });
  return read(answer, "json");
}

/** Downloads a file. */
export async function download(path, file) {
  const blob = await read(await send(path), "blob");
  const address = URL.createObjectURL(blob);
  const link = document.createElement("a");
  link.href = address;
  link.download = file;
  link.click();
  // The browser needs it until it starts saving.
  setTimeout(() => URL.revokeObjectURL(address), 60000);
  return blob.size;
}

/** The query string of all parameters that are not empty, with the question mark. */
export function query(parameters) {
  const given = Object.entries(parameters).filter(([, value]) => value !== "" && value !== undefined && value !== null);
  return given.length ? `?${given.map(([name, value]) => `${name}=${encode(String(value))}`).join("&")}` : "";
}
