"use strict";
// Shows /advise and refreshes it every ten seconds. Inserts everything from the server as text, never as markup.

const element = (name, attributes = {}, ...children) => {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
};

const quiet = (...children) => element("p", { class: "quiet" }, ...children);
const UNITS = ["B", "KiB", "MiB", "GiB", "TiB"];
const binary = (size) => {
  const power = Math.min(UNITS.length - 1, Math.floor(Math.log2(Math.max(size, 1)) / 10));
  const amount = size / 2 ** (10 * power);
  return `${amount < 1000 ? Number(amount.toPrecision(3)) : Math.round(amount)} ${UNITS[power]}`;
};
const isBytes = (unit) => unit.split(" ")[0] === "bytes";
const shown = (value, unit = "") => {
  if (typeof value !== "number") return String(value);
  return isBytes(unit) ? binary(value) : value.toLocaleString("en");
};
const unitShown = (unit) => (isBytes(unit) ? unit.slice("bytes".length).trim() : unit);
const minutes = (seconds) => (seconds < 120 ? `${Math.round(seconds)} s` : `${Math.round(seconds / 60)} min`);
const moment = (at) => new Date(1000 * at).toISOString().replace("T", " ").replace(/\.\d+Z/, " UTC");
const trends = { worse: "getting worse", steady: "steady", better: "getting better" };
const subject = (of) => Object.values(of).join(".");

const table = (rows) =>
  element("table", {}, ...rows.map((cells) =>
    element("tr", {}, ...cells.map((cell) => (cell instanceof Node ? cell : element("td", {}, cell))))));

const statements = (lines) => (lines.length ? [element("pre", {}, lines.join("\n"))] : []);

const change = (item) => [
  ...statements([...item.apply.map((sql) => `${sql};`), ...item.persist.map((sql) => `${sql};   -- to keep it`)]),
  quiet([
    ...item.rollback.map((sql) => `roll back: ${sql};`),
    item.via === "SQL" ? `option file: ${item.config}` : `${item.via}: ${item.config}`,
  ].join(" · ")),
  ...(item.note ? [element("p", {}, item.note)] : []),
];

const action = (todo) => [
  element("p", {}, todo.do),
  ...statements(todo.apply.map((sql) => `${sql};`)),
  ...(todo.rollback.length ? [quiet(`roll back: ${todo.rollback.map((sql) => `${sql};`).join(" ")}`)] : []),
];

const range = (part) => {
  if (part.error === null || part.now === null) return "";
  const off = part.error * part.now;
  const ends = [Math.max(0, part.predicted - off), part.predicted + off];
  const [low, high] = part.now >= 10 ? ends.map(Math.round) : ends.map((end) => Number(end.toPrecision(4)));
  return ` (expect ${shown(low, part.unit)} to ${shown(high, part.unit)})`;
};

const amount = (part) =>
  `${part.quantity} ${part.now === null ? "" : `${shown(part.now, part.unit)} → `}${shown(part.predicted, part.unit)}`
  + range(part);

// Details that the user opened or closed keep that state over a refresh.
const opened = new Map();
const details = (key, title, open, ...children) => {
  const node = element("details", {}, element("summary", {}, title), ...children);
  node.open = opened.get(key) ?? open;
  node.addEventListener("toggle", () => opened.set(key, node.open));
  return node;
};

const alternatives = (found) =>
  found.alternatives.length
    ? [details(found.fingerprint, "Other settings that would help", false,
      ...found.alternatives.flatMap((other) => [
        ...change(other.change),
        element("p", {}, `effect: ${amount(other.effect)}${other.cost ? ` · cost: ${amount(other.cost)}` : ""}`
          + `${other.others ? ` · others: ${amount(other.others)}` : ""}`),
      ]))]
    : [];

const evidence = (items) =>
  table(items.map((item) => [
    item.name.replaceAll("_", " "),
    element("td", { class: "number" }, `${shown(item.value, item.unit)} ${unitShown(item.unit)}`),
    element("td", { class: "quiet" }, item.source),
  ]));

const soFar = (found) =>
  `so far: ${found.note}${found.factor === 1 ? "" : `; the confidence is multiplied by ${found.factor}`}`;

const recommendation = (found) =>
  element("article", { class: found.severity },
    element("h2", {}, found.summary),
    ...found.changes.flatMap(change),
    ...found.actions.flatMap(action),
    ...(found.effect ? [element("p", {}, `effect: ${amount(found.effect)}`)] : []),
    ...(found.cost ? [element("p", {}, `cost: ${amount(found.cost)}`)] : []),
    ...(found.others ? [element("p", {}, `others: ${amount(found.others)}`)] : []),
    ...alternatives(found),
    ...(found.since === null ? [] : [element("p", {},
      `since ${moment(found.since)}${found.trend ? `, ${trends[found.trend]}` : ""}; last seen ${moment(found.judged_at)}`)]),
    ...(found.track_record === null ? [] : [element("p", {}, soFar(found.track_record))]),
    evidence(found.evidence),
    quiet(element("a", { href: `/rules/${encodeURIComponent(found.rule)}` }, found.rule),
      ` · ${found.severity} · confidence ${found.confidence} · watched ${minutes(found.watched_seconds)} · `,
      element("a", { href: `/advise/${encodeURIComponent(found.fingerprint)}` }, found.fingerprint)));

const section = (title, rows, open) =>
  rows.length ? [details(title, `${title} (${rows.length})`, open, table(rows))] : [];

const aside = ({ recommendation: found, reason }) =>
  [`${found.rule} ${subject(found.subject)}`, found.summary, element("td", { class: "quiet" }, reason)];

const shownAdvice = (advice) => [
  ...(advice.recommendations.length
    ? advice.recommendations.map(recommendation)
    : [element("p", {}, "Nothing to change in this window.")]),
  ...section("Failed rules: their advice is unknown",
    advice.failed.map((item) => [item.rule, item.reason]), true),
  ...section("Blind rules: data they need is missing", advice.blind.map((item) =>
    [item.rule, `${item.lacks}: ${item.reason}`, element("td", { class: "quiet" }, item.cure ?? "")]), true),
  ...section("Overruled by another recommendation", advice.overruled.map(aside), false),
  ...section("Suppressed by the configuration", advice.suppressed.map(aside), false),
];

const refresh = async () => {
  const server = document.getElementById("server");
  const main = document.getElementById("advice");
  try {
    const response = await fetch("/advise");
    const advice = await response.json();
    if (!response.ok) {
      server.textContent = advice.detail;
      main.replaceChildren();
      return;
    }
    server.textContent = `${advice.server}, watched ${minutes(advice.watched_seconds)}`
      + (advice.next_at === null ? ""
        : `; made ${minutes(advice.age_seconds)} ago, anew at ${moment(advice.next_at)} or later`);
    main.replaceChildren(...shownAdvice(advice));
  } catch {
    server.textContent = "the sidecar does not answer";
  }
};

refresh();
setInterval(refresh, 10000);
