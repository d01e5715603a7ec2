// Numbers with units, and times in the viewer's zone. Every function returns plain text, or null for what is missing.

import { visible } from "./visible.js";

const BINARY = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
const DAY = 86400;

const significant = (value, digits) => Number(value.toPrecision(digits));

/** 8450.2 as "8,450", 6.0612 as "6.061". */
export const number = (value) => {
  if (value === null || value === undefined) return null;
  return (Math.abs(value) >= 1000 ? Math.round(value) : significant(value, 4)).toLocaleString("en");
};

/** A number in little room: 8450 as "8.45k". */
export const short = (value) => {
  if (value === null || value === undefined) return null;
  const [suffix, size] = [["G", 1e9], ["M", 1e6], ["k", 1e3], ["", 1]].find(([, least]) => Math.abs(value) >= least) ?? ["", 1];
  return `${significant(value / size, 3).toLocaleString("en")}${suffix}`;
};

/** A part of a whole, from 0 to 1, in percent: "33 %". */
export const share = (part) => {
  if (part === null || part === undefined) return null;
  const percent = 100 * part;
  return `${percent > 0 && percent < 10 ? significant(percent, 2) : Math.round(percent)} %`;
};

/** Bytes in binary units: "137 MiB". */
export const bytes = (value) => {
  if (value === null || value === undefined) return null;
  const size = Math.abs(value);
  const power = Math.min(BINARY.length - 1, Math.max(0, Math.floor(Math.log2(Math.max(size, 1)) / 10)));
  const amount = value / 2 ** (10 * power);
  return `${Math.abs(amount) < 1000 ? significant(amount, 3) : Math.round(amount)} ${BINARY[power]}`;
};

const isBytes = (unit) => unit === "bytes" || unit.startsWith("bytes ");
const isPages = (unit) => /^pages([ /]|$)/.test(unit);
const rate = (unit) => unit.replace(/ per second$/, "/s").replace(/ per hour$/, "/h").replace(/ per pass$/, "/pass");

/** The short form of a unit: "pages per second" as "pages/s"; of bytes only what follows, for `value` has the rest. */
export const unitOf = (unit = "") => (isBytes(unit) ? rate(unit.slice("bytes".length)).trim() : rate(unit));

/** A value without its unit; bytes with theirs. */
export const value = (amount, unit = "") => {
  if (amount === null || amount === undefined) return null;
  if (typeof amount !== "number") return String(amount);
  return isBytes(unit) ? bytes(amount) : number(amount);
};

/** A value with its unit: "8,450 pages", "6.06 pages/s", "26 MiB/s". */
export const quantity = (amount, unit = "") => {
  if (amount === null || amount === undefined) return null;
  const suffix = unitOf(unit);
  return `${value(amount, unit)}${suffix.startsWith("/") || suffix === "" ? suffix : ` ${suffix}`}`;
};

/** Pages as bytes, with the rate's suffix: "132 MiB/s". Null for other units and for an unknown page size. */
export const beside = (amount, unit = "", pageSize = null) => {
  if (typeof amount !== "number" || !pageSize || !isPages(unit)) return null;
  return `${bytes(amount * pageSize)}${rate(unit).slice("pages".length)}`;
};

/** Pages with bytes beside: "8,450 pages (132 MiB)". */
export const pages = (amount, pageSize = null) => {
  if (amount === null || amount === undefined) return null;
  const size = beside(amount, "pages", pageSize);
  return `${amount === 1 ? "1 page" : quantity(amount, "pages")}${size ? ` (${size})` : ""}`;
};

/** The change in percent: "−33 %"; null where it says nothing. */
export const percent = (now, then) => {
  if (typeof now !== "number" || typeof then !== "number" || now === 0 || now === then) return null;
  const change = (100 * (then - now)) / Math.abs(now);
  if (Math.abs(change) < 0.05) return null;
  const shown = Math.abs(change) < 10 ? significant(Math.abs(change), 2) : Math.round(Math.abs(change));
  return `${change < 0 ? "−" : "+"}${shown.toLocaleString("en")} %`;
};

/** Seconds as people say them: "58 s", "12 min", "3 h", "2 d". */
export const duration = (seconds) => {
  if (seconds === null || seconds === undefined) return null;
  if (seconds < 1) return `${significant(Math.max(0, seconds), 2)} s`;
  for (const [unit, size, until] of [["s", 1, 120], ["min", 60, 7200], ["h", 3600, 2 * DAY]]) {
    if (Math.round(seconds) < until) return `${Math.round(seconds / size)} ${unit}`;
  }
  return `${Math.round(seconds / DAY)} d`;
};

const sameDay = (one, other) => one.toDateString() === other.toDateString();
const clock = { hour: "2-digit", minute: "2-digit", hourCycle: "h23" };

/** A Unix time, in the viewer's zone: "12:31" today, "22 Nov 12:31" this year, else with the year. */
export const time = (at, now = Date.now() / 1000) => {
  if (at === null || at === undefined) return null;
  const [then, today] = [new Date(1000 * at), new Date(1000 * now)];
  const shown = then.toLocaleTimeString("en-GB", clock);
  if (sameDay(then, today)) return shown;
  const year = then.getFullYear() === today.getFullYear() ? {} : { year: "numeric" };
  return `${then.toLocaleDateString("en-GB", { day: "numeric", month: "short", ...year })} ${shown}`;
};

/** The same in full, for a title: date, seconds and zone. */
export const fullTime = (at) => {
  if (at === null || at === undefined) return null;
  const options = { dateStyle: "full", timeStyle: "long" };
  return new Date(1000 * at).toLocaleString("en-GB", options);
};

/** The time of day with seconds: "12:31:05". */
export const clockTime = (at) => new Date(1000 * at).toLocaleTimeString("en-GB", { ...clock, second: "2-digit" });

/** The machine's form for a `<time>` element. */
export const isoTime = (at) => new Date(1000 * at).toISOString();

/** A subject in a line: "shop.orders", "shop.orders.by_day". */
export const subject = (of) => visible(Object.values(of ?? {}).join("."));

const SIZES = /(_pool|_page|_chunk|_buffer|_file|_log_max)_size(_max)?$|_log_capacity$/;

/** A setting's value: "128 MiB" where it is a size. */
export const setting = (name, of) => {
  if (of === null || of === undefined) return "unknown";
  return SIZES.test(name) ? value(of, "bytes") : String(of);
};

/** "1 warning", "2 warnings". */
export const count = (amount, one, many = `${one}s`) => `${number(amount)} ${amount === 1 ? one : many}`;
