// How large the client is: the library alone, and what the page adds to it.

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { gzipSync } from "node:zlib";

const root = new URL("..", import.meta.url).pathname;
const built = existsSync(`${root}node_modules/esbuild`);
const bundled = async (entry) => {
  const { build } = await import("esbuild");
  // The second file is part of no bundle.
  const apart = { name: "apart", setup: (one) => one.onResolve({ filter: /further\/index\.js$/ }, ({ path }) => ({ path, external: true })) };
  const options = { plugins: [apart], absWorkingDir: root, bundle: true, charset: "utf8", format: "esm", minify: true, target: "es2020", metafile: true, write: false };
  const { outputFiles, metafile } = await build({ ...options, entryPoints: [entry] });
  const [{ inputs }] = Object.values(metafile.outputs);
  return { text: outputFiles[0].text, parts: Object.fromEntries(Object.entries(inputs).map(([name, one]) => [name, one.bytesInOutput])) };
};

test("the client without its page has at most 16 KB in gzip", { skip: !built }, async () => {
  const { text } = await bundled("package/index.ts");
  assert.ok(gzipSync(text, { level: 9 }).length <= 16 * 1024);
  // It would hold the sentences in five languages if anything of it imported them.
  assert.ok(!text.includes("Nothing has left this device"));
});

test("what the page adds in code and style is at most 44 KB, its sentences apart", { skip: !built }, async () => {
  const library = (await bundled("src/library.ts")).parts;
  const sentences = /languages\/|text\.ts$/;
  // Keeping a report and sending it are the client's.
  const client = ["src/store.ts", "src/send.ts"];
  const { parts } = await bundled("src/index.ts");
  const names = Object.keys(parts).filter((name) => !sentences.test(name) && !client.includes(name));
  const code = names.reduce((sum, name) => sum + parts[name] - (library[name] ?? 0), 0);
  const style = readFileSync(`${root}../src/deniable/service/static/survey.css`).length;
  assert.ok(style <= 30 * 1024);
  assert.ok(code + style <= 44 * 1024, `${code} + ${style}`);
  if (process.env.SIZES) console.log({ code, style });
});
