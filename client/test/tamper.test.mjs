// Whatever is off about a document, there is no form: for every mechanism.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { canonical, check, mechanism, parse, proved, Refusal, sha256, written } from "./bundle.mjs";

const documents = JSON.parse(readFileSync(new URL("../../tests/vectors/wire/documents.json", import.meta.url), "utf8"));
const copy = (value) => JSON.parse(JSON.stringify(value));
const idOf = ({ schema, mechanism, version, title }) =>
  sha256(canonical(parse(written({ schema, mechanism, version, title }))));

/** Double every epsilon of a specification, those of its parts too. */
function bolder(spec) {
  // Both budgets of a mechanism that keeps responses.
  for (const key of ["epsilon_forever", "epsilon_once"]) if (key in spec) spec[key] = String(Number(spec[key]) * 2);
  if (!("epsilon" in spec)) return;
  spec.epsilon = String(Number(spec.epsilon) > 8 ? 31.5 : Number(spec.epsilon) * 2);
  for (const one of spec.oracles ?? []) one.epsilon = spec.epsilon;
}

/** The guarantee of a bolder epsilon, recomputed well enough to agree with its coins to nine digits. */
async function restated(document) {
  const made = await mechanism(parse(written(document.mechanism)));
  const ratio = made.bounds?.whole ?? made.ratio;
  let [low, high] = [0, 33];
  // ln of an exact fraction, by bisection on e^x of a double: enough for the nine digits that are compared.
  const value = Number((ratio[0] * 10n ** 20n) / ratio[1]) / 1e20;
  for (let i = 0; i < 200; i++) {
    const middle = (low + high) / 2;
    if (Math.exp(middle) < value) low = middle;
    else high = middle;
  }
  const epsilon = Number(document.mechanism.epsilon ?? document.mechanism.epsilon_forever);
  const scale = epsilon / document.guarantee.epsilon;
  document.guarantee.epsilon = epsilon;
  // A double's digits do not tell ln of a ratio close to one; there the declared budget is close enough.
  document.guarantee.implemented_epsilon = epsilon < 0.01 ? epsilon : Math.min(high * (1 + 1e-12), epsilon);
  const logarithm = ([n, d]) => Math.log1p(Number(((n - d) * 10n ** 30n) / d) / 1e30);
  document.guarantee.per_attribute = made.bounds?.attributes.map(logarithm) ?? document.guarantee.per_attribute.map((one) => one * scale);
  for (const row of document.guarantee.trust_models) row.epsilon = made.stated ? row.epsilon * scale : epsilon;
}

// Each takes a document and returns the id that is asked for, undefined for the true one; "own" for the tampered one.
const tamperings = {
  "epsilon alone": (d) => bolder(d.mechanism),
  "epsilon, id recomputed": async (d) => {
    bolder(d.mechanism);
    d.id = await idOf(d);
  },
  "epsilon, id and guarantee recomputed": async (d) => {
    bolder(d.mechanism);
    await restated(d);
    d.id = await idOf(d);
  },
  "epsilon, id and the one asked for, guarantee left": async (d) => {
    bolder(d.mechanism);
    d.id = await idOf(d);
    return "own";
  },
  "a label": (d) => void (d.schema.attributes[0].categories[0] += "!"),
  "the order of labels": (d) => void d.schema.attributes[0].categories.reverse(),
  "the order of questions or columns": (d) => {
    d.schema.attributes.reverse();
    d.mechanism = Object.fromEntries(Object.entries(d.mechanism).reverse());
    if (d.schema.attributes.length === 1) d.version += 1;
  },
  "the id": (d) => void (d.id = `${d.id.slice(0, 63)}${d.id[63] === "0" ? 1 : 0}`),
  "a smaller epsilon stated": (d) => void (d.guarantee.epsilon /= 2),
  "a smaller implemented epsilon stated": (d) => void (d.guarantee.implemented_epsilon *= 1 - 1e-8),
  "a smaller bound of an attribute stated": (d) => void (d.guarantee.per_attribute[0] *= 0.9),
  "a row of the guarantee left out": (d) => void d.guarantee.trust_models.pop(),
  "per report said to be once": (d) => void (d.guarantee.trust_models.find((one) => one.scaling !== "once").scaling = "once"),
  "an extra key": (d) => void (d.note = "hello"),
  "an extra key of a question, id and the one asked for": async (d) => {
    d.schema.attributes[0].secret = "x";
    d.id = await idOf(d);
    return "own";
  },
  "an extra key of the mechanism, id and the one asked for": async (d) => {
    d.mechanism.lie = 3;
    d.id = await idOf(d);
    return "own";
  },
  "an unknown mechanism, id and the one asked for": async (d) => {
    d.mechanism.mechanism += "2";
    d.id = await idOf(d);
    return "own";
  },
  "coins for other questions, id and the one asked for": async (d) => {
    d.schema.attributes[0].categories.push("one more");
    d.schema.attributes[0].edges?.push(1e6);
    d.id = await idOf(d);
    return "own";
  },
  "no id": () => "",
  "half an id": (d) => d.id.slice(0, 32),
  "more than an id": (d) => `${d.id}0`,
};

for (const { name, document, id } of documents) {
  test(`${name}: ${Object.keys(tamperings).length} tamperings are refused`, async () => {
    await check(document, id);
    for (const [what, tamper] of Object.entries(tamperings)) {
      const tampered = copy(JSON.parse(document));
      const said = await tamper(tampered);
      const asked = said === undefined ? id : said === "own" ? tampered.id : said;
      await assert.rejects(check(written(tampered), asked), Refusal, what);
    }
    // Recomputed with care, a bolder survey is a valid one: only its id tells that it is another.
    const bold = copy(JSON.parse(document));
    await tamperings["epsilon, id and guarantee recomputed"](bold);
    assert.equal((await check(written(bold), bold.id)).id, bold.id);
    await assert.rejects(check(document.replace('"version"', '"version": 1, "version"'), id), Refusal);
  });

  test(`${name}: a client that is off by one fails its own proof`, async () => {
    for (const coin of (await mechanism(parse(document).get("mechanism"))).coins) {
      assert.ok(proved(coin));
      for (const off of [1n, -1n]) assert.ok(!proved({ ...coin, threshold: coin.threshold + off }));
    }
  });
}

test("a check takes at most 20 ms", async () => {
  await check(documents[0].document, documents[0].id);
  for (const { name, document, id } of documents) {
    const times = [];
    for (let i = 0; i < 5; i++) {
      const start = performance.now();
      await check(document, id);
      times.push(performance.now() - start);
    }
    assert.ok(Math.min(...times) <= 20, `${name}: ${times}`);
  }
});
