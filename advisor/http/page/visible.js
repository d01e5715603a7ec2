// Texts of others, made visible. It is advisor/contract/visible.py once more, for what the page draws by itself.

const HIDDEN =
  "\\u0000-\\u001f\\u007f-\\u009f" + // control characters
  "\\u00ad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u3164\\uffa0" + // fillers and the like
  "\\u200b\\u200e\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff" + // no width; line ends; bidirectional marks
  "\\ud800-\\udfff\\ue000-\\uf8ff\\ufdd0-\\ufdef\\ufff0-\\ufffb\\ufffe\\uffff" + // lone surrogates; for private use
  "\\u{1bca0}-\\u{1bca3}\\u{1d173}-\\u{1d17a}\\u{e0000}-\\u{e00ff}\\u{e01f0}-\\u{e0fff}\\u{f0000}-\\u{10ffff}";
const LOOSE = "[\\u200c\\u200d\\ufe00-\\ufe0f\\u{e0100}-\\u{e01ef}]";
const OTHER = "[^\\u0000-\\u007f]";
const JOINER = `(?:(?<=${OTHER})[\\u200c\\u200d](?=${OTHER})|(?<=${OTHER})[\\ufe00-\\ufe0f\\u{e0100}-\\u{e01ef}])`;
const NOT_SHOWN = new RegExp(`[${HIDDEN}]${LOOSE}*|(?!${JOINER})${LOOSE}+`, "gu");
const SHORT = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

const escaped = (character) => {
  const code = character.codePointAt(0);
  const [mark, digits] = code < 0x100 ? ["x", 2] : code < 0x10000 ? ["u", 4] : ["U", 8];
  return SHORT[character] ?? `\\${mark}${code.toString(16).padStart(digits, "0")}`;
};

const PLAIN = /^[ -~]*$/;

/** A text in one line, with an escape in place of each character that does not show: "\x1b[31m", "\u202e". */
export const visible = (text) => PLAIN.test(text) ? text : text.replace(NOT_SHOWN, (hidden) => [...hidden].map(escaped).join(""));

/** The same for a text of several lines. */
export const visibleLines = (text) => PLAIN.test(text) ? text : text.split("\n").map(visible).join("\n");

const NAMES = /`(?:[^`]|``)*`/g;

/** A statement as it can be pasted, or a comment in its place. */
export const statement = (sql) =>
  visibleLines(sql) === sql && !(sql.match(NAMES) ?? []).some((name) => name.includes("\n"))
    ? `${sql};`
    : `-- this name cannot be shown as it is; the JSON has the statement: ${visible(sql)}`;
