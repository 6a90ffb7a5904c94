// The client against the library: the bundle that ships, and the vectors that pytest holds the library to.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { canonical, check, encode, expBounds, linkDigits, mechanism, parse, RecordedWords, schema, sha256, written } from "./bundle.mjs";

const place = new URL("../../tests/vectors/wire/", import.meta.url);
const read = (name) => JSON.parse(readFileSync(new URL(name, place), "utf8"));
const json = (value) => parse(written(value));
const hex = (bytes) => Buffer.from(bytes).toString("hex");

/** The first words as given, the others derived from a name, as tests/wire_vectors.py does it. */
class DerivedWords {
  constructor(name, leading) {
    this.name = name;
    this.leading = leading;
    this.place = 0;
  }

  next() {
    const place = this.place++;
    if (place < this.leading.length) return BigInt(`0x${this.leading[place]}`);
    return createHash("sha256").update(`${this.name}:${place}`).digest().readBigUInt64LE(0);
  }
}

let cases = 0;
const others = ["thresholds.json", "documents.json", "answers.json", "memos.json"];
for (const file of readdirSync(place).filter((name) => name.endsWith(".json") && !others.includes(name))) {
  test(`reports of ${file} are the library's, byte for byte`, async () => {
    for (const subject of read(file)) {
      const made = await mechanism(json(subject.mechanism));
      const attributes = subject.schema && schema(json(subject.schema));
      subject.cases.forEach(([given, leading, report], number) => {
        const words = new DerivedWords(`${subject.name} ${number}`, leading);
        const codes = attributes ? encode(attributes, given, words) : given.map(BigInt);
        assert.equal(hex(made.randomize(codes, words)), report, `${subject.name}, case ${number}`);
        cases++;
      });
    }
  });
}

test("what a device keeps for many waves, and reports of it, are the library's, byte for byte", async () => {
  for (const { name, mechanism: spec, cases } of read("memos.json")) {
    const { memoised } = await mechanism(json(spec));
    cases.forEach(([leading, code, rows, ...reports], number) => {
      const words = new DerivedWords(`memo ${number}`, leading);
      const memo = memoised.draw(words);
      assert.deepEqual(memo.map(hex), rows, `${name}, case ${number}`);
      assert.ok(memoised.fits(memo));
      assert.ok(!memoised.fits(memo.slice(1)));
      reports.forEach((report, i) => {
        const fresh = new DerivedWords(`wave ${number} ${i}`, leading);
        assert.equal(hex(memoised.report(memo, BigInt(code), fresh)), report, `${name}, case ${number}`);
      });
    });
  }
});

test("there are at least two thousand vectors", () => assert.ok(cases >= 2000, `${cases}`));

test("thresholds are the library's, at their edges", async () => {
  for (const [name, k, epsilon, threshold] of read("thresholds.json")) {
    const [kind, omega] = name.split(" ");
    const spec =
      kind === "SPL"
        ? { mechanism: kind, sizes: [4, 4, 4], epsilon, oracle: "GRR" }
        : { mechanism: kind, k: Number(k), epsilon, ...(omega ? { omega: Number(omega) } : {}) };
    assert.equal((await mechanism(json(spec))).coins[0].threshold.toString(16), threshold, `${name} ${k} ${epsilon}`);
  }
});

test("e^t lies between the bounds, which are close", () => {
  for (const [a, b] of [[1n, 1000000n], [1n, 3n], [7n, 20n], [1n, 1n], [23n, 10n], [32n, 1n]]) {
    // The same sum with 144 bits more.
    let [term, exact] = [1n << 400n, 0n];
    for (let n = 1n; term; n++) {
      exact += term;
      term = (term * a) / (b * n);
    }
    const [lower, upper] = expBounds([a, b]);
    assert.ok(lower << 144n <= exact && exact < upper << 144n, `e^(${a}/${b})`);
    assert.ok(upper - lower < 1n << 64n, `e^(${a}/${b})`);
  }
});

test("answers of every kind have the library's codes, or are refused where it refuses", () => {
  for (const { schema: asked, cases } of read("answers.json")) {
    const attributes = schema(json(asked));
    for (const [answer, codes, name, leading] of cases) {
      const words = new DerivedWords(name, leading);
      const what = `${attributes[0].name}: ${JSON.stringify(answer)}`;
      if (codes === null) assert.throws(() => encode(attributes, [answer], words), Error, what);
      else assert.deepEqual(encode(attributes, [answer], words).map(Number), codes, what);
    }
  }
});

test("a label that was chosen is its code, of a list only", () => {
  const attributes = schema(json({ attributes: [{ name: "a", categories: ["< 1", "1 to < 2", ">= 2"], edges: [1, 2] }] }));
  assert.deepEqual(encode(attributes, [1], null), [1n]);
  for (const wrong of [-1, 3]) assert.throws(() => encode(attributes, [wrong], null), Error);
});

test("documents have the library's ids and pass", async () => {
  for (const { name, document, id } of read("documents.json")) {
    const survey = await check(document, id);
    assert.equal(survey.id, id, name);
  }
});

test("links end in the library's digits", async () => {
  for (const { collection, page, digits } of read("../service/links.json"))
    assert.equal(await linkDigits(collection, page), digits);
});

test("recorded words run out instead of repeating", () => {
  const words = new RecordedWords([1n]);
  words.next();
  assert.throws(() => words.next(), RangeError);
});

test("canonical JSON sorts by code point and escapes as Python does", async () => {
  const text = '{"\\ud83d\\ude00":1,"\\uffff":[1.0,2e5,true,null],"b":"\\u007f\\u00e9/\\n"}';
  assert.equal(canonical(parse(text)), '{"b":"\\u007f\\u00e9/\\n","\\uffff":[1.0,2e5,true,null],"\\ud83d\\ude00":1}');
  assert.equal(await sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  for (const bad of ["{", "[1,]", '{"a":1,}', '{"a":1,"a":2}', "01", "1 2", "nul", '"\\x"', "[".repeat(33) + "]".repeat(33)])
    assert.throws(() => parse(bad), Error, bad);
});
