// The miss curve: the reads to expect with buffer pools of other sizes, with their bounds.

import { bytes, number, share, time } from "./format.js";
import { Plot } from "./plot.js";
import { askModel, worded } from "./store.js";
import { html, useEffect, useRef, useState } from "./html.js";

const SETTING = "innodb_buffer_pool_size";

const rate = (reads) => `${number(reads)} pages/s`;

/** The pool size that the advice asks for, bytes; null where it asks for none. */
const advised = (advice) => {
  const changes = (advice?.recommendations ?? [])
    .flatMap((finding) => [...finding.changes, ...finding.alternatives.map(({ change }) => change)]);
  return changes.find(({ setting }) => setting === SETTING)?.to ?? null;
};

const between = ({ low, high }) => (low === high ? "" : ` (${number(low)} to ${number(high)})`);

const sentence = (curve, target) => {
  const sizes = curve.sizes.map((size) => `${bytes(size.bytes)}: ${number(size.pages_read_per_second.expected)}${between(size.pages_read_per_second)}`);
  return `Pages read from disk a second by the size of the buffer pool. Today ${bytes(curve.pool_bytes)}, measured ${rate(curve.pages_read_per_second)}.`
    + `${target === null ? "" : ` Advised ${bytes(target)}.`} Expected, with bounds: ${sizes.join("; ")}.`;
};

const Picture = ({ curve, target }) => {
  const sizes = curve.sizes.map(({ bytes: size }) => size).concat(curve.filled.map(({ bytes: size }) => size), target ?? []).filter((size) => size > 0);
  const [least, most] = [Math.min(...sizes), Math.max(...sizes)];
  const x = (size) => (least === most ? 0.5 : Math.log(size / least) / Math.log(most / least));
  const over = (pick) => curve.sizes.map((size) => [x(size.bytes), pick(size)]);
  const lines = [{ points: over((size) => size.pages_read_per_second.expected), ink: "--pic-t0" }];
  if (curve.sizes.some((size) => size.scan_pages_read_per_second > 0)) {
    lines.push({ points: over((size) => size.scan_pages_read_per_second), ink: "--pic-t4" });
  }
  const band = [
    ...over((size) => size.pages_read_per_second.high),
    ...over((size) => size.pages_read_per_second.low).reverse(),
  ];
  const dots = [
    ...curve.sizes.map((size) => ({
      x: x(size.bytes), y: size.pages_read_per_second.expected, kind: "point",
      title: `${bytes(size.bytes)}: ${rate(size.pages_read_per_second.expected)}${between(size.pages_read_per_second)}`,
    })),
    ...curve.filled.filter((size) => size.bytes > 0).map((size) => ({
      x: x(size.bytes), y: size.pages_read_per_second, kind: "filled",
      title: `measured while the pool filled, ${bytes(size.bytes)}: ${rate(size.pages_read_per_second)}`,
    })),
    { x: x(curve.pool_bytes), y: curve.pages_read_per_second, kind: "now", title: `measured today: ${rate(curve.pages_read_per_second)}` },
  ];
  const lanes = [
    { x: x(curve.pool_bytes), text: `today ${bytes(curve.pool_bytes)}`, kind: "lane-now" },
    ...(target === null ? [] : [{ x: x(target), text: `advised ${bytes(target)}`, kind: "lane-then" }]),
  ];
  const ticks = curve.sizes.map(({ bytes: size, times }) => ({ x: x(size), text: bytes(size), first: times === 1 }));
  return html`<div class="curve-picture"><${Plot} label=${sentence(curve, target)} lines=${lines} band=${band} ticks=${ticks} lanes=${lanes} dots=${dots} height=${220} /></div>
    <ul class="plot-key" aria-hidden="true">
      <li><svg class="chart-sample" width="26" height="12"><line x2="26" y1="6" y2="6" stroke-width="2.5" style=${{ stroke: "var(--pic-t0)" }} /></svg>expected</li>
      <li><svg class="chart-sample" width="26" height="12"><rect class="plot-band" width="26" height="12" /></svg>low to high</li>
      <li><svg class="chart-sample" width="26" height="12"><circle class="plot-dot plot-now" cx="13" cy="6" r="4.5" /></svg>measured today</li>
      ${curve.filled.length > 0 && html`<li><svg class="chart-sample" width="26" height="12"><circle class="plot-dot plot-filled" cx="13" cy="6" r="4.5" /></svg>measured while the pool filled</li>`}
      ${lines.length > 1 && html`<li><svg class="chart-sample" width="26" height="12"><line x2="26" y1="6" y2="6" stroke-width="2.5" stroke-dasharray="7 4" style=${{ stroke: "var(--pic-t4)" }} /></svg>of these, by full scans</li>`}
    </ul>`;
};

const Sizes = ({ curve }) => html`<details><summary>Numbers, and what they rest on</summary>
  <table class="curve-sizes">
    <thead><tr><th scope="col">Pool</th><th scope="col">Expected</th><th scope="col">Low to high</th><th scope="col">Bytes</th></tr></thead>
    <tbody>${curve.sizes.map(({ times, bytes: size, pages_read_per_second: reads }) => html`<tr key=${times} class=${times === 1 ? "curve-today" : ""}>
      <th scope="row">${bytes(size)}${times === 1 ? " today" : ""}</th><td>${rate(reads.expected)}</td>
      <td>${number(reads.low)} to ${number(reads.high)}</td><td>${bytes(reads.expected * curve.page_bytes)}/s</td>
    </tr>`)}</tbody>
  </table>
  <ul>${curve.notes.map((note) => html`<li key=${note}>${note}</li>`)}</ul>
</details>`;

// Why nobody need ask: the curve is made of what tables read.
const lackOf = (overview) => {
  if (overview?.lacks?.tables) return `There is no miss curve: ${overview.lacks.tables}.`;
  return overview?.watched_seconds === 0 ? "There is no miss curve yet: the server was looked at once so far." : null;
};

/**
 * The miss curve. It is asked for when it comes into sight, and again on a click: working it out takes the sidecar a second.
 *
 * @param {object} props
 * @param {string|null} props.server Another one has another curve.
 * @param {object|null} [props.advice] As GET /advise has it; a pool size in it is marked.
 * @param {object|null} [props.overview] As GET /overview has it; where it lacks what the curve is made of, none is asked for.
 */
export const MissCurve = ({ server, advice, overview }) => {
  const place = useRef(null);
  const [curve, setCurve] = useState(null);
  const [lack, setLack] = useState(null);
  const [asking, setAsking] = useState(false);
  const lacking = lackOf(overview);
  const look = async () => {
    setAsking(true);
    try {
      setCurve(await askModel("curve", { headers: { Accept: "application/json" } }));
      setLack(null);
    } catch (error) {
      setLack(worded(error));
    }
    setAsking(false);
  };
  useEffect(() => {
    if (lacking !== null) return undefined;
    const seen = new IntersectionObserver(([entry]) => {
      if (!entry.isIntersecting) return;
      seen.disconnect();
      look();
    });
    seen.observe(place.current);
    return () => seen.disconnect();
  }, [server, lacking]);
  if (lacking !== null && curve === null) return html`<p class="pic-lack">${lacking}</p>`;
  // A button that is disabled as soon as it comes into sight would lose the focus that brought it there.
  return html`<div class="curve" ref=${place}>
    ${lack !== null && html`<p class="pic-lack">${lack}</p>`}
    ${curve === null && lack === null && html`<p class="pic-quiet">Working out the reads with other sizes of the pool …</p>`}
    ${curve !== null && html`
      <p class="pic-quiet">Pages read from disk a second, by the size of the buffer pool</p>
      <${Picture} curve=${curve} target=${advised(advice)} />
      <${Sizes} curve=${curve} />`}
    <p class="pic-quiet">${curve !== null && `What was watched up to ${time(curve.at)}. `}
      <button type="button" class="curve-again" aria-disabled=${asking} onClick=${asking ? null : look}>${asking ? "asking …" : "Ask again"}</button></p>
  </div>`;
};
