// What the sidecar last said. /live keeps it up to date; where that stream is refused or held back, requests do.

const POLL_MS = 10_000; // the sidecar collects once in ten seconds at most for all who ask
const RETRY_MS = 60_000; // until a refused stream is tried again
const FIRST_MS = 4_000; // a proxy that holds a stream back has had its chance by then
const SILENT_MS = 45_000; // a connection that died without a word is asked about after so long
const WATCH_MS = 15_000;
const HISTORY_MS = 30_000;
const REQUEST_MS = 20_000;
const MODEL_MS = 90_000; // a model yields to everything else on the machine, and waits for its turn
const CHECK_MS = 5_000;
const DRAW_MS = 30; // all events of one snapshot make one redraw
const STRANGER = new Set([401, 403]);
const POINTS = 300;
const MOST_POINTS = 900; // so many have come in one by one: the thinned series are read anew

export const store = {
  state: null,
  advice: null,
  overview: null,
  /** By `seriesKey`: {name, labels, unit, at, values}. `at` and `values` are as long as each other, oldest first. */
  series: new Map(),
  events: [],
  history: null,
  /** Seconds of series to show. */
  window: 3600,
  /** "starting" until the first answer, "live", or "lost" while the sidecar cannot be reached. */
  connection: "starting",
  lost_since: null,
  /** Why it answers nothing but that; null where it does not answer at all. */
  refusal: null,
  /** The sidecar's time `now`, and the viewer's clock (ms) when it came: together they date things. */
  clock: null,
  /** What a screen reader shall say: the outcome of the viewer's own click. */
  said: "",
};

const listeners = new Set();
let drawing = null;

/** Call `listener` after each change; returns the function that ends it. */
export const subscribe = (listener) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

const set = (changes) => {
  Object.assign(store, changes);
  drawing ??= setTimeout(() => {
    drawing = null;
    listeners.forEach((each) => each(store));
  }, DRAW_MS);
};

export const say = (said) => set({ said });

/** The key of a series in `store.series`: "pages_read", `young_pages{pool="0"}`. */
export const seriesKey = (name, labels = {}) => {
  const pairs = Object.entries(labels ?? {}).map(([label, of]) => `${label}=${JSON.stringify(of)}`);
  return pairs.length ? `${name}{${pairs.join(",")}}` : name;
};

/** The JSON of an answer. Throws what fetch throws, or an Error with the problem's `status`. */
export const ask = async (path, options = {}) => {
  const response = await fetch(path, { signal: AbortSignal.timeout(REQUEST_MS), ...options });
  const answer = await response.json();
  if (response.ok) return answer;
  throw Object.assign(new Error(answer.detail ?? response.statusText), { status: response.status });
};

/** The same of an answer that a model is asked for. */
export const askModel = (path, options = {}) => ask(path, { signal: AbortSignal.timeout(MODEL_MS), ...options });

/** Why there is no answer, for people. */
export const worded = (error) => {
  if (error.status !== undefined) return error.message;
  return error.name === "TimeoutError" ? "No answer in time: the sidecar, or its machine, is busy." : "The sidecar does not answer.";
};

const reached = () => {
  heardAt = Date.now();
  if (store.connection !== "live") set({ connection: "live", lost_since: null, refusal: null });
};

const lost = (refusal = null) => {
  if (store.connection !== "lost" || store.refusal !== refusal) {
    set({ connection: "lost", lost_since: store.lost_since ?? heardAt / 1000, refusal });
  }
};

/** What a failed request says of the connection: any answer came from the sidecar, but one to a stranger says nothing. */
const judge = (error) => {
  if (error.status === undefined) lost();
  else if (STRANGER.has(error.status)) lost(error.message);
  else reached();
};

const SERIES = [
  "pages_read", "pages_written", "page_gets", "made_young", "not_made_young",
  "young_pages", "old_pages", "free_pages", "size_pages", "old_target_pages",
  "change_buffer_pages", "change_buffer_merges", "change_buffer_operations", "reader_threads", "table_pages_read",
];

const readSeries = async () => {
  const { window } = store;
  const answer = await ask(`series?names=${SERIES.join(",")}&window=${window}&points=${POINTS}`);
  if (window !== store.window) return; // the viewer chose another one meanwhile
  set({ series: new Map(answer.series.map((each) => [seriesKey(each.name, each.labels), { ...each, at: answer.at }])) });
};

const readEvents = async () => set({ events: (await ask(`events?window=${3600}`)).events });
const readHistory = async () => {
  historyAt = Date.now();
  set({ history: await ask("history?limit=20") });
};
const readOverview = async () => set({ overview: await ask("overview") });

/** Read what the stream does not send in whole. A part that fails leaves the others alone. */
const readPast = () => Promise.allSettled([readSeries(), readEvents(), readHistory()]);

const appended = (answer) => {
  const [at] = answer.at;
  const series = new Map(store.series);
  for (const each of answer.series) {
    const key = seriesKey(each.name, each.labels);
    const before = series.get(key) ?? { ...each, at: [], values: [] };
    if (before.at.length && at <= before.at.at(-1)) continue;
    const first = Math.max(0, before.at.findIndex((other) => other >= at - store.window));
    series.set(key, {
      ...before,
      at: [...before.at.slice(first), at],
      values: [...before.values.slice(first), each.values[0]],
    });
  }
  return series;
};

const isSame = (one) => (other) =>
  one.at === other.at && one.kind === other.kind && one.setting === other.setting && one.text === other.text;

const taken = {
  state: (state) => {
    const reloaded = store.state && state.rules.loaded_at !== store.state.rules.loaded_at;
    set({ state, clock: { now: state.now, receivedAt: Date.now() } });
    if (reloaded) readHistory().catch(judge);
  },
  advice: (advice) => {
    set({ advice });
    readHistory().catch(judge); // a finding came or went
  },
  overview: (overview) => {
    set({ overview });
    if (Date.now() - historyAt > HISTORY_MS) readHistory().catch(judge); // an outcome may have been measured
  },
  series: (answer) => {
    set({ series: appended(answer) });
    if ((store.series.get("pages_read")?.at.length ?? 0) > MOST_POINTS) readSeries().catch(judge);
  },
  event: (event) => {
    if (!store.events.some(isSame(event))) set({ events: [...store.events, event].sort((one, other) => one.at - other.at) });
  },
};

let stream = null;
let heardAt = Date.now();
let historyAt = 0;
let polling = null;

const listen = () => {
  stream?.close();
  stream = new EventSource("live");
  const own = stream;
  let spoken = false;
  stream.addEventListener("open", () => {
    reached();
    if (store.series.size === 0 || store.history === null) readPast();
  });
  stream.addEventListener("error", () => {
    if (own.readyState === EventSource.CLOSED) refused(); // an answer, but no stream
    else check(); // the browser connects again, with Last-Event-ID
  });
  for (const [kind, take] of Object.entries(taken)) {
    stream.addEventListener(kind, (message) => {
      spoken = true;
      reached();
      stopPolling();
      take(JSON.parse(message.data));
    });
  }
  setTimeout(() => {
    if (own === stream && !spoken) startPolling();
  }, FIRST_MS);
};

const refused = () => {
  stream?.close();
  stream = null;
  startPolling();
  setTimeout(listen, RETRY_MS);
};

const poll = async () => {
  try {
    const state = await ask("state");
    reached();
    taken.state(state);
    if (state.at === null) return; // nothing is known of the server that could be asked for
    const [advice] = await Promise.allSettled([ask("advise"), readOverview(), readPast()]);
    if (advice.status === "fulfilled") set({ advice: advice.value });
  } catch (error) {
    judge(error);
  }
};

const startPolling = () => {
  if (polling !== null) return;
  polling = setInterval(poll, POLL_MS);
  poll();
};

const stopPolling = () => {
  clearInterval(polling);
  polling = null;
};

/** Ask whether the sidecar is still there: a stream also ends by itself, once an hour. False where it is not. */
const check = async () => {
  try {
    taken.state(await ask("state", { signal: AbortSignal.timeout(CHECK_MS) }));
    reached();
    return true;
  } catch (error) {
    judge(error);
    return error.status !== undefined;
  }
};

/** After a long silence a stream that no longer has a sidecar begins anew. */
const watch = async () => {
  if (polling === null && Date.now() - heardAt >= SILENT_MS && !(await check())) listen();
};

/** Show series over so many seconds. */
export const look = (seconds) => {
  set({ window: seconds });
  readSeries().catch(judge);
};

/** Begin; once for a page. */
export const start = () => {
  listen();
  readPast();
  setInterval(watch, WATCH_MS);
};
