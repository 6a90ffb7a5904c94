// What was answered on this device, to be looked at, saved and loaded.

import { button, h } from "./element.js";
import { exported, imported, keep, ledger, total } from "./store.js";
import type { Key } from "./text.js";
import type { Voice } from "./voice.js";

const STATES = { drawn: "stateDrawn", counted: "stateCounted", stopped: "stateStopped", left: "stateLeft" } as const;

/** Show the ledger in an element. */
export async function showLedger(voice: Voice, device: HTMLElement, opened = false, outcome?: Key): Promise<void> {
  const entries = await ledger();
  const heads = (["survey", "epsilon", "state"] as const).map((key) => voice.say(h("th", { scope: "col" }), key));
  const rows = entries.map(({ title, collection, epsilon, person, state }) => {
    const which = voice.say(h("td"), () => (title || collection.slice(0, 12)) + (person > 1 ? ` (${voice.fill("another")})` : ""));
    return h("tr", {}, which, h("td", {}, epsilon), voice.say(h("td"), STATES[state]));
  });
  const status = h("p", { role: "status" });
  if (outcome) voice.say(status, outcome);
  const file = h("input", {
    type: "file",
    id: "deniable-file",
    accept: "application/json",
    change: async () => {
      try {
        for (const one of imported(await file.files![0]!.text())) await keep(one);
        await showLedger(voice, device, true, "loaded");
      } catch {
        voice.say(status, "notLoaded");
      }
    },
  });
  const save = (): void => {
    const link = h("a", { download: "deniable-ledger.json", href: URL.createObjectURL(new Blob([exported(entries)], { type: "application/json" })) });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };
  const sum = h("tr", {}, voice.say(h("th", { scope: "row" }), "sum"), h("td", {}, String(Number(total(entries).toPrecision(9)))), h("td"));
  voice.forget(device);
  opened ||= !!device.querySelector("details")?.open;
  device.replaceChildren(
    h(
      "details",
      { open: opened },
      voice.say(h("summary"), "device"),
      ...(entries.length ? [h("table", {}, h("thead", {}, h("tr", {}, ...heads)), h("tbody", {}, ...rows), h("tfoot", {}, sum))] : []),
      voice.say(h("p"), "perOrigin"),
      h("p", {}, voice.say(button(save), "save")),
      h("p", {}, voice.say(h("label", { for: file.id }), "load"), file),
      status,
    ),
  );
}
