// Small parts that several sections share.

import { html, useEffect, useRef, useState } from "./html.js";
import * as format from "./format.js";
import { say } from "./store.js";

const COPIED_MS = 2_000;

/** A time in the viewer's zone, in full when pointed at. */
export const Time = ({ at }) =>
  at === null || at === undefined
    ? null
    : html`<time datetime=${format.isoTime(at)} title=${format.fullTime(at)}>${format.time(at)}</time>`;

export const SEVERITIES = {
  critical: { mark: "■", word: "Critical" },
  warning: { mark: "▲", word: "Warning" },
  info: { mark: "●", word: "Info" },
};

/** Severity by shape, word and colour. */
export const Severity = ({ of }) => html`
  <span class="severity severity-${of}"><span aria-hidden="true">${SEVERITIES[of].mark}</span> ${SEVERITIES[of].word}</span>`;

/** Write to the clipboard. Over plain HTTP from another machine there is no clipboard API, but the old command works. */
const write = async (text) => {
  if (globalThis.isSecureContext && navigator.clipboard) {
    await navigator.clipboard.writeText(text);
    return;
  }
  const area = document.createElement("textarea");
  const focused = document.activeElement;
  area.value = text;
  area.className = "copy-area";
  area.setAttribute("aria-hidden", "true");
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  focused?.focus({ preventScroll: true });
  if (!done) throw new Error("the browser refused");
};

/** A button that copies `text`, or what the function `text` resolves to. `label` says what, for a screen reader. */
export const Copy = ({ text, label, children = "Copy" }) => {
  const [done, setDone] = useState(null);
  const timer = useRef(null);
  useEffect(() => () => clearTimeout(timer.current), []);
  const copy = async () => {
    try {
      await write(typeof text === "function" ? await text() : text);
      setDone("Copied ✓");
      say(`${label}: copied`);
    } catch (error) {
      setDone("Not copied");
      say(`${label}: not copied, ${error.message}`);
    }
    clearTimeout(timer.current);
    timer.current = setTimeout(() => setDone(null), COPIED_MS);
  };
  return html`
    <button type="button" class="copy" aria-label=${`Copy ${label}`} title=${`Copy ${label}`} onClick=${copy}>${done ?? children}</button>`;
};

/** Code with its button. */
export const Code = ({ text, label }) => html`
  <div class="code"><code>${text}</code><${Copy} text=${text} label=${label} /></div>`;

/** A value with its unit, and bytes beside pages. */
export const Quantity = ({ of, unit, pageSize }) => {
  const bytes = format.beside(of, unit, pageSize);
  return html`<span class="quantity">${format.quantity(of, unit)}${bytes && html` <span class="quiet">(${bytes})</span>`}</span>`;
};
