"use strict";
// Shows /advise and asks again every ten seconds. Everything from the server goes in as text, never as markup.

const element = (name, attributes = {}, ...children) => {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
};

const shown = (value) => (typeof value === "number" ? value.toLocaleString("en") : String(value));
const minutes = (seconds) => (seconds < 120 ? `${Math.round(seconds)} s` : `${Math.round(seconds / 60)} min`);

const evidence = (items) =>
  element("table", {}, ...items.map((item) =>
    element("tr", {},
      element("td", {}, item.name.replaceAll("_", " ")),
      element("td", { class: "number" }, `${shown(item.value)} ${item.unit}`),
      element("td", { class: "quiet" }, item.source))));

const quantity = (label, part) =>
  element("p", {}, `${label}: ${part.quantity} ${part.now === null ? "" : `${shown(part.now)} → `}${shown(part.predicted)}`);

const recommendation = (found) =>
  element("article", { class: found.severity },
    element("h2", {}, found.summary),
    ...found.changes.flatMap((change) => [
      element("pre", {}, [...change.apply, ...change.persist.map((sql) => `${sql}   -- to keep it`)].join(";\n")),
      element("p", { class: "quiet" }, `take back: ${change.rollback.join("; ")} · option file: ${change.config}`),
    ]),
    quantity("effect", found.effect),
    ...(found.cost ? [quantity("cost", found.cost)] : []),
    evidence(found.evidence),
    element("p", { class: "quiet" },
      `${found.rule} · ${found.severity} · confidence ${found.confidence} · watched ${minutes(found.watched_seconds)} · ${found.fingerprint}`));

const blind = (items) =>
  element("section", {}, element("h2", {}, "What the rules could not see"),
    element("table", {}, ...items.map((item) =>
      element("tr", {}, element("td", {}, item.rule), element("td", {}, `${item.lacks}: ${item.reason}`),
        element("td", { class: "quiet" }, item.cure ?? "")))));

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
    const found = advice.recommendations.map(recommendation);
    main.replaceChildren(
      ...(found.length ? found : [element("p", {}, "Nothing to change, as far as has been watched.")]),
      ...(advice.blind.length ? [blind(advice.blind)] : []));
  } catch {
    server.textContent = "the sidecar does not answer";
  }
};

refresh();
setInterval(refresh, 10000);
