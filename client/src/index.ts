// This file is what other pages import. A page with an element that has `data-collection` need not import anything.

import { mountAll } from "./page.js";

export * from "./library.js";
export { mount } from "./page.js";

if (typeof document !== "undefined") mountAll();
