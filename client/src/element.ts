// Elements of a page.

type Child = Node | string;
type Attributes = Record<string, string | number | boolean | ((event: Event) => unknown)>;

function filled<E extends Element>(element: E, attributes: Attributes, children: readonly Child[]): E {
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(key, value);
    else if (value !== false) element.setAttribute(key, value === true ? "" : String(value));
  }
  element.append(...children);
  return element;
}

/** An element. Listeners are functions, and everything else is an attribute. */
export const h = <K extends keyof HTMLElementTagNameMap>(name: K, attributes: Attributes = {}, ...children: Child[]): HTMLElementTagNameMap[K] =>
  filled(document.createElement(name), attributes, children);

/** An element of a drawing. */
export const draw = <K extends keyof SVGElementTagNameMap>(name: K, attributes: Attributes = {}, ...children: Child[]): SVGElementTagNameMap[K] =>
  filled(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);

/** A button that does not submit. */
export const button = (act: () => unknown, name = ""): HTMLButtonElement => h("button", { type: "button", class: name, click: () => act() });

/** A drawing beside words that say the same. */
const picture = (box: string, name: string, ...children: Child[]): SVGSVGElement =>
  draw("svg", { viewBox: box, class: name, "aria-hidden": "true" }, ...children);

/** The mark: an answer, and the chance in front of it. */
export const mark = (name = "mark"): SVGSVGElement =>
  picture("0 0 30 20", name, draw("circle", { class: "people", cx: 10, cy: 10, r: 9 }), draw("circle", { class: "coin", cx: 20, cy: 10, r: 8 }));

const SIGNS = {
  done: "M19 33l9 9 17-19",
  over: "M20 32h24",
  alert: "M32 17v19M32 46v.1",
  offline: "M18 30c8-8 20-8 28 0M25 38c4-4 10-4 14 0M32 46v.1",
  busy: "M32 18v15l9 7",
} as const;

export type Sign = keyof typeof SIGNS;

/** The sign of a screen that says how an action ended. */
export const badge = (sign: Sign): SVGSVGElement =>
  picture("0 0 64 64", sign === "done" || sign === "over" ? "badge" : "badge alert", draw("circle", { cx: 32, cy: 32, r: 32 }), draw("path", { d: SIGNS[sign] }));

/** The strength of evidence, from calm (0) to warning (3), by the factor by which it moves odds: up to 3, 8 and 20. */
export const level = (factor: number): number => [3, 8, 20].filter((bound) => factor > bound).length;

/** A bar over the share of a width that is from 0 to 1, coloured by a level. */
export function bar(): { readonly drawing: SVGSVGElement; set(share: number, strength: number): void } {
  const part = draw("rect", { height: 12, rx: 3 });
  const set = (share: number, strength: number): void => {
    part.setAttribute("width", `${100 * share}%`);
    part.setAttribute("class", `level-${strength}`);
  };
  return { drawing: draw("svg", { class: "bar", height: 12, "aria-hidden": "true" }, part), set };
}
