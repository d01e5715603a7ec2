// What the sidecar last said: the page asks for all that it shows whenever there may be something new.

const LEAST_MS = 5_000; // between two rounds of questions
const HIDDEN_MS = 60_000; // the same while nobody sees the page
const LATE_SECONDS = 1; // after a snapshot is due: the collection takes a moment, and so do the rules
const HISTORY_MS = 30_000; // an outcome that was measured is shown within this time
const REQUEST_MS = 20_000;
const MODEL_MS = 90_000; // a model yields to everything else on the machine, and waits for its turn
const DRAW_MS = 30; // all answers of one moment make one redraw
const STRANGER = new Set([401, 403]);
const POINTS = 300;

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
    listeners.forEach((listener) => listener(store));
  }, DRAW_MS);
};

export const say = (said) => set({ said });

/** The key of a series in `store.series`: "pages_read", `young_pages{pool="0"}`. */
export const seriesKey = (name, labels = {}) => {
  const pairs = Object.entries(labels ?? {}).map(([label, of]) => `${label}=${JSON.stringify(of)}`);
  return pairs.length ? `${name}{${pairs.join(",")}}` : name;
};

const answered = async (response) => {
  const answer = await response.json();
  if (response.ok) return answer;
  throw Object.assign(new Error(answer.detail ?? response.statusText), { status: response.status });
};

/** The JSON of an answer. Throws what fetch throws, or an Error with the problem's `status`. */
export const ask = async (path, options = {}) => answered(await fetch(path, { signal: AbortSignal.timeout(REQUEST_MS), ...options }));

const last = new Map(); // by path: the last answer and its ETag

/** The same of what is asked for again and again: only an answer that is not the last one is sent. */
const askAgain = async (path) => {
  const before = last.get(path);
  const headers = before?.etag ? { "If-None-Match": before.etag } : {};
  const response = await fetch(path, { signal: AbortSignal.timeout(REQUEST_MS), headers });
  if (response.status === 304) return before.answer;
  const answer = await answered(response);
  last.set(path, { answer, etag: response.headers.get("ETag") });
  return answer;
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

const readState = async () => {
  const state = await askAgain("state");
  reached();
  if (state.rules.loaded_at !== store.state?.rules.loaded_at) historyAt = 0;
  set({ state, clock: { now: state.now, receivedAt: Date.now() } });
  return state;
};

const fingerprints = (advice) => advice?.recommendations.map((finding) => finding.fingerprint).join();

const readAdvice = async () => {
  const advice = await askAgain("advise?last=true");
  if (fingerprints(advice) !== fingerprints(store.advice)) historyAt = 0; // a finding came or went
  set({ advice });
};

const readOverview = async () => set({ overview: await askAgain("overview") });

const readSeries = async () => {
  const { window } = store;
  const answer = await askAgain(`series?names=${SERIES.join(",")}&window=${window}&points=${POINTS}`);
  if (window !== store.window) return; // the viewer chose another one meanwhile
  set({ series: new Map(answer.series.map((series) => [seriesKey(series.name, series.labels), { ...series, at: answer.at }])) });
};

const readEvents = async () => set({ events: (await askAgain("events")).events });

const readHistory = async () => {
  if (Date.now() - historyAt < HISTORY_MS) return;
  set({ history: await askAgain("history?limit=20") });
  historyAt = Date.now();
};

let heardAt = Date.now();
let historyAt = 0;
let round = null; // the timer of the next one; null while one is under way

/** Ask for everything, one after the other over one connection. A part that is refused leaves the others alone. */
const readAll = async () => {
  const { at, judged } = await readState();
  // What is not known yet would be refused.
  for (const read of [judged && readAdvice, at && readOverview, readSeries, readEvents, readHistory]) {
    try {
      if (read) await read();
    } catch (error) {
      if (error.status === undefined) throw error;
    }
  }
};

/** Until the next snapshot is there; at once where it is overdue, or nothing is known of it. */
const pause = () => {
  if (document.hidden) return HIDDEN_MS;
  const { at, interval_seconds: interval, now, starting } = store.state ?? {};
  const seconds = at && interval && !starting && store.connection === "live" ? at + interval + LATE_SECONDS - now : 0;
  return Math.max(LEAST_MS, 1000 * seconds);
};

const poll = async () => {
  clearTimeout(round);
  round = null;
  await readAll().catch(judge);
  round = setTimeout(poll, pause());
};

/** Show series over so many seconds. */
export const look = (seconds) => {
  set({ window: seconds });
  readSeries().catch(judge);
};

/** Begin; once for a page. */
export const start = () => {
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden && round !== null) poll();
  });
  poll();
};
