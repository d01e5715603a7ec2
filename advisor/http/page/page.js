"use strict";
// Shows /advise and asks again every ten seconds. Everything from the server goes in as text, never as markup.

const element = (name, attributes = {}, ...children) => {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
};

const quiet = (...children) => element("p", { class: "quiet" }, ...children);
const shown = (value) => (typeof value === "number" ? value.toLocaleString("en") : String(value));
const minutes = (seconds) => (seconds < 120 ? `${Math.round(seconds)} s` : `${Math.round(seconds / 60)} min`);
const subject = (of) => Object.values(of).join(".");

const table = (rows) =>
  element("table", {}, ...rows.map((cells) =>
    element("tr", {}, ...cells.map((cell) => (cell instanceof Node ? cell : element("td", {}, cell))))));

const statements = (lines) => (lines.length ? [element("pre", {}, lines.join("\n"))] : []);

const change = (made) => [
  ...statements([...made.apply.map((sql) => `${sql};`), ...made.persist.map((sql) => `${sql};   -- to keep it`)]),
  quiet([
    ...made.rollback.map((sql) => `take back: ${sql};`),
    made.via === "SQL" ? `option file: ${made.config}` : `${made.via}: ${made.config}`,
  ].join(" · ")),
  ...(made.note ? [element("p", {}, made.note)] : []),
];

const action = (todo) => [
  element("p", {}, todo.do),
  ...statements(todo.apply.map((sql) => `${sql};`)),
  ...(todo.rollback.length ? [quiet(`take back: ${todo.rollback.map((sql) => `${sql};`).join(" ")}`)] : []),
];

const amount = (part) =>
  `${part.quantity} ${part.now === null ? "" : `${shown(part.now)} → `}${shown(part.predicted)}`
  + (part.error === null ? "" : ` (the model is ${(100 * part.error).toFixed(1)} % off what is read today)`);

// What is folded or unfolded by hand stays so when the page is drawn anew.
const folded = new Map();
const details = (key, title, open, ...children) => {
  const made = element("details", {}, element("summary", {}, title), ...children);
  made.open = folded.get(key) ?? open;
  made.addEventListener("toggle", () => folded.set(key, made.open));
  return made;
};

const alternatives = (found) =>
  found.alternatives.length
    ? [details(found.fingerprint, "Other settings that would help", false,
      ...found.alternatives.flatMap((other) => [
        ...change(other.change),
        element("p", {}, `effect: ${amount(other.effect)}${other.cost ? ` · cost: ${amount(other.cost)}` : ""}`),
      ]))]
    : [];

const evidence = (items) =>
  table(items.map((item) => [
    item.name.replaceAll("_", " "),
    element("td", { class: "number" }, `${shown(item.value)} ${item.unit}`),
    element("td", { class: "quiet" }, item.source),
  ]));

const recommendation = (found) =>
  element("article", { class: found.severity },
    element("h2", {}, found.summary),
    ...found.changes.flatMap(change),
    ...found.actions.flatMap(action),
    ...(found.effect ? [element("p", {}, `effect: ${amount(found.effect)}`)] : []),
    ...(found.cost ? [element("p", {}, `cost: ${amount(found.cost)}`)] : []),
    ...alternatives(found),
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
    : [element("p", {}, "Nothing to change, as far as has been watched.")]),
  ...section("Rules that broke: what they would say is not known",
    advice.failed.map((item) => [item.rule, item.reason]), true),
  ...section("What the rules could not see", advice.blind.map((item) =>
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
    server.textContent = `${advice.server}, watched ${minutes(advice.watched_seconds)}`;
    main.replaceChildren(...shownAdvice(advice));
  } catch {
    server.textContent = "the sidecar does not answer";
  }
};

refresh();
setInterval(refresh, 10000);
