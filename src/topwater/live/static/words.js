// How numbers, shares, times and spans are written.

export const isNumber = (value) => typeof value === "number";
export const known = (value) => value !== null && value !== undefined;
export const share = (value) => (isNumber(value) ? value.toFixed(3) : "–");

/** How good a share is, in one word for the style sheet. */
export function tone(value) {
  if (!known(value)) return "none";
  if (value >= 0.9) return "good";
  return value >= 0.6 ? "fair" : "poor";
}

const formats = new Map();

function format(options) {
  const name = JSON.stringify(options);
  if (!formats.has(name)) formats.set(name, new Intl.NumberFormat("en", options));
  return formats.get(name);
}

export const whole = (value) => format({ maximumFractionDigits: 0 }).format(value);
const minus = (text) => text.replace("-", "−");

/** One way to write all numbers of a column: the decimals that they need, at most three. */
export function numberFormat(values) {
  const sizes = values.filter((each) => typeof each === "number").map(Math.abs);
  const largest = Math.max(0, ...sizes);
  if (largest >= 1e12 || (largest > 0 && largest < 1e-3)) {
    const science = format({ notation: "scientific", maximumFractionDigits: 3 });
    return (value) => minus(science.format(value));
  }
  const most = largest >= 10_000 ? 1 : largest >= 100 ? 2 : 3;
  const needed = (size) => {
    let digits = 0;
    while (digits < most && Math.abs(size - Number(size.toFixed(digits))) > 1e-9) digits += 1;
    return digits;
  };
  const digits = Math.max(0, ...sizes.map(needed));
  const plain = format({ minimumFractionDigits: digits, maximumFractionDigits: digits });
  return (value) => minus(plain.format(value));
}

export function percent(value) {
  if (!isNumber(value)) return "–";
  const rounded = Math.round(value * 100);
  if (rounded === 100 && value < 1) return "> 99 %";
  return rounded === 0 && value > 0 ? "< 1 %" : `${rounded} %`;
}

export function duration(millis) {
  const seconds = Math.max(0, millis) / 1000;
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 10) return `${(Math.floor(seconds * 10) / 10).toFixed(1)} s`;
  if (seconds < 120) return `${Math.floor(seconds)} s`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 172_800) return `${Math.floor(seconds / 3600)} h`;
  return `${whole(Math.floor(seconds / 86_400))} days`;
}

export const agoText = (millis) =>
  millis < 2000 ? "just now" : `${duration(millis).replace(/\.\d/, "")} ago`;

const two = (number) => String(number).padStart(2, "0");

/** Whether a number of milliseconds is a time at all. */
const isTime = (millis) => Math.abs(millis) <= 8.64e15;

export function clock(millis) {
  if (!isTime(millis)) return String(millis);
  const moment = new Date(millis);
  const text = [moment.getHours(), moment.getMinutes(), moment.getSeconds()].map(two).join(":");
  return millis % 1000 ? `${text}.${String(moment.getMilliseconds()).padStart(3, "0")}` : text;
}

const days = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric" });

export const day = (millis) => (isTime(millis) ? days.format(new Date(millis)) : "");
export const iso = (millis) => (isTime(millis) ? new Date(millis).toISOString() : "");
