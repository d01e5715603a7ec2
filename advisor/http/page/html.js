// Preact, whose every text shows: a name on the server can hold marks that turn the text around it.

import { html as plain } from "./vendor/standalone.module.js";
import { visibleLines } from "./visible.js";

export { render, useEffect, useLayoutEffect, useMemo, useReducer, useRef, useState } from "./vendor/standalone.module.js";

const shown = (value) => {
  if (typeof value === "string") return visibleLines(value);
  return Array.isArray(value) && value.some((part) => typeof part === "string") ? value.map(shown) : value;
};

/** As Preact has it. Only line feeds stay as they are: statements have several lines, and names go through `visible`. */
export const html = (parts, ...values) => plain(parts, ...values.map(shown));
