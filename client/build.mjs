// Builds the bundle that is checked in under src/deniable/service/static: the same bytes from the same sources anywhere.

import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const root = new URL("..", import.meta.url).pathname;
const target = process.argv[2] ?? `${root}src/deniable/service/static/`;
const sources = createHash("sha256");
for (const name of readdirSync(`${root}client/src`).sort()) sources.update(`${name}\0${readFileSync(`${root}client/src/${name}`, "utf8")}\0`);
const result = await build({
  entryPoints: [`${root}client/src/index.ts`],
  absWorkingDir: `${root}client`,
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2020",
  charset: "utf8",
  legalComments: "none",
  write: false,
  banner: { js: `/* deniable client, Apache-2.0, built from sources ${sources.digest("hex")} */` },
});
const [{ contents }] = result.outputFiles;
writeFileSync(`${target}deniable.js`, contents);
console.log(`deniable.js: ${contents.length} bytes, ${gzipSync(contents, { level: 9 }).length} gzip`);
