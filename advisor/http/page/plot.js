// Lines over the values of a setting: an SVG that follows its width without being measured.

import { short } from "./format.js";
import { html } from "./html.js";

const DASHES = ["", "7 4", "2 3", "9 3 2 3"]; // lines are told apart without colour
const NEAR = 0.17; // of the width; labels that are nearer would touch

const percent = (share) => `${(100 * share).toFixed(2)}%`;

/** A round step, of which at most `most` steps go into `whole`. */
export const step = (whole, most = 4) => {
  if (!(whole > 0)) return 1;
  const least = whole / most;
  const power = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 5, 10].map((times) => times * power).find((step) => step >= least * 0.999);
};

const path = (points, most) =>
  points.map(([x, y], index) => `${index ? "L" : "M"}${(100 * x).toFixed(2)} ${(100 * (1 - y / most)).toFixed(2)}`).join("");

const spaced = (ticks) => {
  const taken = [];
  return [...ticks]
    .sort((one, other) => Number(other.first ?? false) - Number(one.first ?? false))
    .filter(({ x }) => taken.every((other) => Math.abs(x - other) >= NEAR) && taken.push(x));
};

const anchor = (x) => (x < 0.04 ? "start" : x > 0.96 ? "end" : "middle");

/**
 * @param {object} props
 * @param {string} props.label What the picture shows, for who does not see it.
 * @param {{points: number[][], ink: string, name?: string}[]} props.lines Points: 0 to 1 from left to right, and a value.
 * @param {number[][]} [props.band] Points around an area: the upper line, then the lower one backwards.
 * @param {{x: number, text: string, first?: boolean}[]} [props.ticks] Of the lower axis; `first` ones have precedence.
 * @param {{x: number, text: string, kind: string}[]} [props.lanes] Upright lines with a name at their top.
 * @param {{x: number, y: number, kind: string, title?: string}[]} [props.dots]
 * @param {number} [props.height] Pixels.
 */
export const Plot = ({ label, lines, band, ticks = [], lanes = [], dots = [], height = 180 }) => {
  const largest = Math.max(
    0, ...lines.flatMap(({ points }) => points.map(([, y]) => y)), ...(band ?? []).map(([, y]) => y), ...dots.map(({ y }) => y),
  );
  const apart = step(largest);
  const most = apart * Math.max(1, Math.ceil(largest / apart - 0.001));
  const y = (value) => percent(1 - value / most);
  const grid = Array.from({ length: Math.round(most / apart) + 1 }, (_, index) => index * apart);
  return html`<div class="plot" style=${{ height: `${height}px` }}>
    <svg role="img" width="100%" height="100%" aria-label=${label}>
      ${grid.map((value) => html`<g key=${value}>
        <line class="plot-grid" x1="0" x2="100%" y1=${y(value)} y2=${y(value)} />
        <text class="plot-tick" x="-8" y=${y(value)} dy="4" text-anchor="end">${short(value)}</text>
      </g>`)}
      ${lanes.map(({ x, kind }) => html`<line key=${kind} class=${`plot-lane plot-${kind}`} x1=${percent(x)} x2=${percent(x)} y1="0" y2="100%" />`)}
      <svg aria-hidden="true" viewBox="0 0 100 100" preserveAspectRatio="none" width="100%" height="100%" overflow="visible">
        ${band && html`<path class="plot-band" d=${`${path(band, most)}Z`} />`}
        ${lines.map(({ points, ink }, index) => html`<path key=${index} class="plot-line" d=${path(points, most)}
          stroke-dasharray=${DASHES[index % DASHES.length]} style=${{ stroke: `var(${ink})` }} />`)}
      </svg>
      ${dots.map(({ x, y: value, kind, title }, index) => html`<circle key=${index} class=${`plot-dot plot-${kind}`} cx=${percent(x)} cy=${y(value)}
        r=${kind === "point" ? 2.5 : 5}>${title && html`<title>${title}</title>`}</circle>`)}
      ${lanes.map(({ x, text, kind }, index) => html`<text key=${kind} class="plot-name" x=${percent(x)} y=${-6 - 15 * index}
        text-anchor=${anchor(x)}>${text}</text>`)}
      ${spaced(ticks).map(({ x, text }) => html`<text key=${text} class="plot-tick" x=${percent(x)} y="100%" dy="18" text-anchor=${anchor(x)}>${text}</text>`)}
    </svg>
  </div>`;
};

/** The key of lines that have names. */
export const PlotKey = ({ lines }) => html`<ul class="plot-key" aria-hidden="true">${lines.map(({ name, ink }, index) => html`<li key=${name}>
  <svg class="chart-sample" width="26" height="12"><line x1="0" x2="26" y1="6" y2="6" stroke-width="2.5" stroke-dasharray=${DASHES[index % DASHES.length]} style=${{ stroke: `var(${ink})` }} /></svg>
  ${name}</li>`)}</ul>`;
