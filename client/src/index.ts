// What other pages import; a page with an element that has `data-collection` needs to import nothing.

import { mountAll } from "./page.js";

export * from "./library.js";
export { mount } from "./page.js";

if (typeof document !== "undefined") mountAll();
