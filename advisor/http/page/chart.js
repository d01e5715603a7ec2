// Lines and areas over time: a thin wrapper of uPlot, with restarts (▼) and changed settings (◆) marked.

import { html, useEffect, useLayoutEffect, useRef, useState } from "./html.js";
import { clockTime, number, short, time } from "./format.js";

const { uPlot } = globalThis; // index.html loads it: as a module, the package has it only three times as large
const MARKS = { restart: "▼", setting: "◆" };
const ROWS = 12;
const STRIPE = 3; // CSS pixels
const SPARK = [120, 28, 60]; // width and height in CSS pixels, and most points

/** The events that a picture marks, of those from `from` to `to` (Unix seconds), each with its sign. */
export const marked = (events, from, to) =>
  (events ?? [])
    .filter(({ kind, at }) => kind in MARKS && at >= from && at <= to)
    .map((event) => ({ ...event, sign: MARKS[event.kind] }));

/** Last, least, mean and most of what is known of the values; null where nothing is. */
export const summary = (values) => {
  const known = values.filter((value) => value !== null && value !== undefined);
  if (known.length === 0) return null;
  return {
    last: values.at(-1) ?? null,
    least: known.reduce((a, b) => Math.min(a, b)),
    most: known.reduce((a, b) => Math.max(a, b)),
    mean: known.reduce((a, b) => a + b, 0) / known.length,
  };
};

/** The values of a series at these times, null where it has none: series of one page may begin at different ones. */
export const valuesAt = (at, series) => {
  if (!series) return at.map(() => null);
  if (series.at === at || (series.at.length === at.length && series.at[0] === at[0] && series.at.at(-1) === at.at(-1))) return series.values;
  const known = new Map(series.at.map((when, index) => [when, series.values[index]]));
  return at.map((when) => known.get(when) ?? null);
};

/** The sentences that say what the lines show, for who does not see them. */
export const described = (title, at, lines, marks, text = number) => {
  if (at.length === 0) return `${title}: nothing was watched yet.`;
  const sentences = lines.map(({ label, values }) => {
    const extremes = summary(values);
    return extremes === null
      ? `${label}: not known.`
      : `${label}: now ${extremes.last === null ? "not known" : text(extremes.last)}, least ${text(extremes.least)},`
        + ` mean ${text(extremes.mean)}, most ${text(extremes.most)}.`;
  });
  const eventSentences = marks.map(({ at: when, text: what }) => `${time(when)}: ${what}.`);
  return [`${title}, ${time(at[0])} to ${time(at.at(-1))}.`, ...sentences, ...eventSentences].join(" ");
};

const colour = (place, name) => getComputedStyle(place).getPropertyValue(name).trim();

// Fills are told apart without colour: plain, striped or empty.
const texture = (context, ink, area) => {
  if (area === "empty") return undefined;
  if (area === "plain") return ink;
  const size = Math.round(STRIPE * devicePixelRatio);
  const tile = new OffscreenCanvas(2 * size, 1);
  const on = tile.getContext("2d");
  on.fillStyle = ink;
  on.fillRect(0, 0, size, 1);
  return context.createPattern(tile, "repeat");
};

// Areas lie on one another: each line runs along the sum of those up to it.
const stackedUp = (rows) => {
  const sums = [];
  for (const row of rows) {
    const below = sums.at(-1);
    sums.push(below ? row.map((value, i) => (value === null || below[i] === null ? null : value + below[i])) : row);
  }
  return sums;
};

const drawn = (at, lines) => {
  const areas = lines.filter((line) => line.area);
  const sums = stackedUp(areas.map((line) => line.values));
  return [at, ...sums, ...lines.filter((line) => !line.area).map((line) => line.values)];
};

const ordered = (lines) => [...lines.filter((line) => line.area), ...lines.filter((line) => !line.area)];

const drawMarks = (chart, marks) => {
  const { ctx, bbox } = chart;
  const scale = devicePixelRatio;
  ctx.save();
  ctx.strokeStyle = ctx.fillStyle = colour(chart.root, "--pic-ink");
  ctx.font = `${11 * scale}px system-ui, sans-serif`;
  ctx.textAlign = "center";
  ctx.textBaseline = "top";
  ctx.lineWidth = scale;
  ctx.setLineDash([2 * scale, 3 * scale]);
  for (const { at, sign } of marks) {
    const x = Math.round(chart.valToPos(at, "x", true));
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    ctx.fillText(sign, x, Math.max(0, bbox.top - 13 * scale));
  }
  ctx.restore();
};

// The name of an area is written into it, where it is thick enough.
const drawNames = (chart, lines) => {
  const { ctx, bbox } = chart;
  const scale = devicePixelRatio;
  const last = chart.data[0].length - 1;
  ctx.save();
  ctx.font = `600 ${12 * scale}px system-ui, sans-serif`;
  ctx.textAlign = "left";
  ctx.textBaseline = "middle";
  lines.forEach(({ area, label }, index) => {
    const upper = chart.data[index + 1][last];
    if (!area || upper === null || upper === undefined) return;
    const top = chart.valToPos(upper, "y", true);
    const bottom = chart.valToPos(index === 0 ? 0 : chart.data[index][last], "y", true);
    if (bottom - top < 18 * scale) return;
    const width = ctx.measureText(label).width + 10 * scale;
    const [x, y] = [bbox.left + bbox.width - width - 6 * scale, (top + bottom) / 2];
    ctx.fillStyle = colour(chart.root, "--pic-paper");
    ctx.fillRect(x, y - 9 * scale, width, 18 * scale);
    ctx.fillStyle = colour(chart.root, "--pic-ink");
    ctx.fillText(label, x + 5 * scale, y);
  });
  ctx.restore();
};

const options = (place, height, now, onCursor) => {
  const lines = ordered(now.current.lines);
  const areas = lines.filter((line) => line.area).length;
  const quiet = () => colour(place, "--pic-quiet");
  const axis = {
    stroke: quiet,
    font: "12px system-ui, sans-serif",
    grid: { stroke: () => colour(place, "--pic-grid"), width: 1 },
    ticks: { show: false },
  };
  return {
    width: Math.max(place.clientWidth, 1),
    height,
    padding: [14, 8, 0, 0],
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, sync: { key: "time" }, points: { size: 7 } },
    scales: {
      x: { time: true },
      y: { range: (_, __, most) => [0, Math.max(now.current.most ?? 0, most * 1.05) || 1] },
    },
    axes: [
      { ...axis, grid: { show: false }, space: 70, size: 26, values: (_, splits, __, ___, step) => splits.map((at) => (step < 60 ? clockTime(at) : clockTime(at).slice(0, 5))) },
      { ...axis, incrs: now.current.whole ? [1, 2, 5, 10, 20, 50, 100, 200, 500] : undefined, size: 46, space: height < 100 ? 16 : 26, values: (_, splits) => splits.map(short) },
    ],
    series: [
      {},
      ...lines.map(({ label, ink, dash, area }) => ({
        label,
        stroke: () => colour(place, ink),
        width: area ? 1 : 1.75,
        dash,
        points: { show: false },
        fill: area ? (chart) => texture(chart.ctx, colour(place, ink), area) : undefined,
      })),
    ],
    bands: Array.from({ length: Math.max(0, areas - 1) }, (_, index) => ({ series: [index + 2, index + 1] })),
    hooks: {
      draw: [
        (chart) => drawNames(chart, ordered(now.current.lines)),
        (chart) => drawMarks(chart, now.current.marks),
      ],
      setCursor: [(chart) => onCursor(chart.cursor.idx ?? null)],
    },
  };
};

const Sample = ({ ink, dash, area }) => html`
  <svg class=${`chart-sample ${area ? `chart-${area}` : ""}`} width="26" height="12" aria-hidden="true" style=${{ color: `var(${ink})` }}>
    ${area
      ? html`<rect x="0.5" y="0.5" width="25" height="11" /><line x1="1" x2="25" y1="6" y2="6" />`
      : html`<line x1="0" x2="26" y1="6" y2="6" stroke-dasharray=${dash?.join(" ")} />`}
  </svg>`;

const Legend = ({ lines, index, at, text }) => html`
  <ul class="chart-legend" aria-hidden="true">
    ${lines.map((line) => {
      const extremes = summary(line.values);
      const value = index === null ? extremes?.last : line.values[index];
      return html`<li key=${line.label}>
        <${Sample} ...${line} /> ${line.label}${" "}
        <b>${value === null || value === undefined ? "not known" : text(value)}</b>
        ${index === null && extremes !== null && html`<span class="pic-quiet"> at most ${text(extremes.most)}</span>`}
      </li>`;
    })}
    ${index !== null && html`<li class="pic-quiet">at ${clockTime(at[index])}</li>`}
  </ul>`;

const Numbers = ({ at, lines, text }) => {
  const [open, setOpen] = useState(false);
  const step = Math.max(1, Math.ceil(at.length / ROWS));
  const rows = open ? at.map((_, index) => index).filter((index) => (at.length - 1 - index) % step === 0) : [];
  return html`<details class="chart-numbers" onToggle=${(event) => setOpen(event.currentTarget.open)}>
    <summary>Numbers</summary>
    ${open && html`<table>
      <thead><tr><th scope="col">Time</th>${lines.map(({ label }) => html`<th scope="col">${label}</th>`)}</tr></thead>
      <tbody>${rows.map((row) => html`<tr key=${at[row]}>
        <th scope="row">${clockTime(at[row])}</th>
        ${lines.map(({ values }) => html`<td>${values[row] === null || values[row] === undefined ? "–" : text(values[row])}</td>`)}
      </tr>`)}</tbody>
    </table>`}
  </details>`;
};

/** What the signs in the charts over `at` stand for. */
export const Marks = ({ events, at }) => {
  const marks = at.length ? marked(events, at[0], at.at(-1)) : [];
  return marks.length > 0 && html`<ul class="chart-marks">
    ${marks.map(({ at: when, sign, text }) => html`<li key=${`${when} ${text}`}>${sign} ${time(when)} ${text}</li>`)}</ul>`;
};

/**
 * Lines over time, with a legend, a text that says the same, and the numbers as a table.
 *
 * @param {object} props
 * @param {number[]} props.at Unix seconds, ascending.
 * @param {{label: string, values: (number|null)[], ink: string, dash?: number[],
 *   area?: "plain"|"stripes"|"empty"}[]} props.lines `ink` names a CSS variable; areas lie on one another.
 * @param {object[]} [props.events] As GET /events has them.
 * @param {string} props.title What is shown, with its unit.
 * @param {(value: number) => string} [props.text] A value in words.
 * @param {number} [props.most] The least that the scale goes up to.
 * @param {boolean} [props.whole] Whether the values are whole numbers.
 * @param {number} [props.height] Pixels.
 */
export const Chart = ({ at, lines, events, title, text = number, most, whole = false, height = 150 }) => {
  const place = useRef(null);
  const chart = useRef(null);
  const now = useRef({});
  const seen = useRef(true);
  const [index, setIndex] = useState(null);
  const marks = at.length ? marked(events, at[0], at.at(-1)) : [];
  now.current = { at, lines, marks, most, whole };
  const shape = JSON.stringify(lines.map(({ label, ink, area }) => [label, ink, area]));

  useLayoutEffect(() => {
    const target = place.current;
    const built = new uPlot(options(target, height, now, setIndex), drawn(now.current.at, ordered(now.current.lines)), target);
    chart.current = built;
    const resized = new ResizeObserver(() => {
      if (target.clientWidth > 0) built.setSize({ width: target.clientWidth, height });
    });
    // What nobody sees is not drawn.
    const looked = new IntersectionObserver(([entry]) => {
      const came = entry.isIntersecting && !seen.current;
      seen.current = entry.isIntersecting;
      if (came) built.setData(drawn(now.current.at, ordered(now.current.lines)));
    });
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    const recoloured = () => built.redraw(false);
    resized.observe(target);
    looked.observe(target);
    scheme.addEventListener("change", recoloured);
    return () => {
      resized.disconnect();
      looked.disconnect();
      scheme.removeEventListener("change", recoloured);
      built.destroy();
      chart.current = null;
    };
  }, [shape, height]);

  useEffect(() => {
    if (seen.current) chart.current?.setData(drawn(at, ordered(lines)));
  }, [at[0], at.at(-1), at.length, marks.length, most]);

  return html`<figure class="chart">
    <figcaption>${title}</figcaption>
    <div class="chart-plot" role="img" aria-label=${described(title, at, lines, marks, text)} ref=${place}></div>
    <${Legend} lines=${lines} index=${index !== null && index < at.length ? index : null} at=${at} text=${text} />
    <${Numbers} at=${at} lines=${lines} text=${text} />
  </figure>`;
};

// The means of so many values in a row that at most `points` are left.
const thinned = (at, values, points) => {
  const size = Math.ceil(at.length / points);
  const starts = at.map((_, index) => index).filter((index) => index % size === 0);
  return starts.map((start) => [at[start], summary(values.slice(start, start + size))?.mean ?? null]);
};

/**
 * A small line without axes. Missing values are gaps.
 *
 * @param {object} props
 * @param {number[]} props.at Unix seconds, ascending.
 * @param {(number|null)[]} props.values
 * @param {object[]} [props.events] As GET /events has them.
 * @param {string} props.label
 * @param {string} props.unit
 */
export const Sparkline = ({ at, values, events, label, unit }) => {
  const [width, height, points] = SPARK;
  const extremes = summary(values);
  if (at.length < 2 || extremes === null) return html`<span class="spark pic-quiet">${label}: not known yet</span>`;
  const [from, to] = [at[0], at.at(-1)];
  const x = (when) => ((when - from) / (to - from)) * width;
  const y = (value) => height - 2 - (value / (extremes.most || 1)) * (height - 10);
  let pen = "M"; // a gap lifts it
  const path = thinned(at, values, points)
    .map(([when, value]) => {
      const step = value === null ? "" : `${pen}${x(when).toFixed(1)} ${y(value).toFixed(1)}`;
      pen = value === null ? "M" : "L";
      return step;
    })
    .join("");
  const marks = marked(events, from, to);
  const text = (value) => `${number(value)} ${unit}`;
  return html`<svg class="spark" role="img" viewBox=${`0 0 ${width} ${height}`} width=${width} height=${height}
      aria-label=${described(label, at, [{ label, values }], marks, text)}>
    ${marks.map((mark) => html`<text key=${mark.at} class="spark-mark" x=${x(mark.at)} y="8">${mark.sign}</text>`)}
    <path class="spark-line" d=${path} />
  </svg>`;
};
