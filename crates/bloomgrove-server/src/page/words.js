// Formats numbers, and creates elements from text. All texts from others pass through `element`, which never
// interprets them as markup.

/** An element with attributes and children; strings become text. */
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== null && value !== false) made.setAttribute(key, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

/** An element of a drawing. */
export function drawn(name, attributes = {}) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

/** A name from others, isolated so that its writing direction does not affect its surroundings. */
export function nameOf(text) {
  return element("bdi", { class: "name" }, text);
}

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

export function count(number) {
  return whole.format(number);
}

export function plural(number, one, many = `${one}s`) {
  return `${count(number)} ${number === 1 ? one : many}`;
}

/** At most three significant digits: 0.0012, 1.25, 48.1, 1,250. */
export function figure(number) {
  if (number === 0) return "0";
  if (Math.abs(number) >= 100) return count(number);
  if (Math.abs(number) < 1e-4) return number.toExponential(1);
  return String(Number(number.toPrecision(Math.abs(number) < 1 ? 2 : 3)));
}

export function bytes(number) {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let unit = 0;
  while (number >= 999.5 && unit + 1 < units.length) {
    number /= 1000;
    unit += 1;
  }
  return `${figure(number)} ${units[unit]}`;
}

export function share(number) {
  if (number > 0 && number < 0.001) return `${figure(number * 100)}%`;
  return `${(number * 100).toFixed(number < 0.1 ? 1 : 0)}%`;
}

/** The estimated number of items; unknown for a filter whose bits are all set. */
export function items(number) {
  return number === null || number === undefined ? "unknown" : count(number);
}

/** A duration in its two largest units. */
export function duration(seconds) {
  const units = [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]];
  let rest = Math.max(0, Math.floor(seconds));
  const words = [];
  for (const [unit, length] of units) {
    const many = Math.floor(rest / length);
    if (many > 0 && words.length < 2) words.push(`${many} ${unit}`);
    rest -= many * length;
  }
  return words.join(" ") || "0 s";
}

/** A time in the viewer's time zone. */
export function moment(seconds) {
  const when = new Date(seconds * 1000);
  return new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" }).format(when);
}

/** How long ago, with the exact time as a tooltip. */
export function ago(seconds) {
  const past = Date.now() / 1000 - seconds;
  const text = past < 5 ? "just now" : `${duration(past).split(" ").slice(0, 2).join(" ")} ago`;
  return element("time", { datetime: new Date(seconds * 1000).toISOString(), title: moment(seconds) }, text);
}

/** A bar for the fill of a filter, followed by the percentage. */
export function fillBar(fill) {
  const inner = element("span", { class: fill > 0.6 ? "bar-inner full" : "bar-inner" });
  inner.style.width = `${Math.min(100, fill * 100)}%`;
  return element("span", { class: "fill" }, element("span", { class: "bar", "aria-hidden": "true" }, inner), share(fill));
}
