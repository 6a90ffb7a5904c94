// <deniable-survey src="https://collector.example/api/v1/collections/ID#DIGITS">: a survey in any page, with one script tag.

import type { Place } from "../src/loading.js";
import { mount } from "../src/page.js";
import text from "../survey.css";

/** The parts that a page may style, as `::part(name)`. */
const PARTS: readonly (readonly [selector: string, part: string])[] = [
  [".deniable > header", "header"],
  ["h1", "heading"],
  ["button:not(.go)", "button"],
  ["button.go", "button primary"],
  ["input, select", "field"],
  ["label", "label"],
  [".promise", "promise"],
  [".card", "card"],
];

/** The page's fonts. Colours are in the sheet, which `build.mjs` opens for the page's own custom properties. */
const OWN = `
:host { display: block; }
:host([hidden]) { display: none; }
.deniable { font-family: var(--deniable-font, inherit); max-width: var(--deniable-width, 37rem); }
`;

/** The place of a survey that an address names. The digits are everything after "#". */
function placeOf(src: string): Place {
  const { origin, pathname, hash } = new URL(src, document.baseURI);
  const [, api = "", collection = ""] = /^(.*)\/collections\/([0-9a-f]{64})$/.exec(pathname) ?? [];
  // Without a collection, no link is complete.
  return { api: origin + api, collection, link: collection && hash.slice(1) };
}

/** A survey that is asked at the place of the element. `data-state` says which screen is shown. */
export class DeniableSurvey extends HTMLElement {
  static readonly observedAttributes = ["src"];
  private _mounted = false;

  connectedCallback(): void {
    const src = this.getAttribute("src");
    // Only the first address counts. Another survey needs another element.
    if (src === null || this._mounted) return;
    this._mounted = true;
    const inner = document.createElement("div");
    const shadow = this.attachShadow({ mode: "open" });
    // A sheet that is made here is not an inline style, so a policy without 'unsafe-inline' allows it.
    shadow.adoptedStyleSheets = [text, OWN].map((rules) => {
      const sheet = new CSSStyleSheet();
      sheet.replaceSync(rules);
      return sheet;
    });
    shadow.append(inner);
    const follow = (): void => {
      if (inner.dataset.state) this.dataset.state = inner.dataset.state;
      for (const [selector, part] of PARTS) for (const one of shadow.querySelectorAll(selector)) if (one.getAttribute("part") !== part) one.setAttribute("part", part);
    };
    new MutationObserver(follow).observe(shadow, { subtree: true, childList: true, attributes: true, attributeFilter: ["data-state", "class"] });
    void mount(inner, placeOf(src));
  }

  attributeChangedCallback(): void {
    if (this.isConnected) this.connectedCallback();
  }
}

if (!customElements.get("deniable-survey")) customElements.define("deniable-survey", DeniableSurvey);
