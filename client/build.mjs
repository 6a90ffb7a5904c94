// Builds what is checked in under src/deniable/service/static: the same bytes from the same sources anywhere.

import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { minify } from "terser";

const root = new URL("..", import.meta.url).pathname;
const target = process.argv[2] ?? `${root}src/deniable/service/static/`;
const digest = (content) => createHash("sha256").update(content).digest("hex");
const common = { absWorkingDir: `${root}client`, bundle: true, charset: "utf8", legalComments: "none", write: false };

// The table of kinds: every other file of its folder, in the order of their names.
const kinds = readdirSync(`${root}client/src/kinds`)
  .map((name) => name.replace(/\.ts$/, ""))
  .filter((name) => name !== "index")
  .sort();
const table = `// Every kind of question by its file; written by \`npm run build\`.

import type { Kind } from "../kind.js";
${kinds.map((name) => `import { kind as ${name} } from "./${name}.js";\n`).join("")}
export const KINDS: readonly Kind[] = [${kinds.join(", ")}];
`;
if (!process.argv[2]) writeFileSync(`${root}client/src/kinds/index.ts`, table);

const sources = readdirSync(`${root}client/src`, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map((entry) => `${entry.parentPath}/${entry.name}`.slice(`${root}client/src/`.length))
  .sort();
const read = (name) => `${name}\0${readFileSync(`${root}client/src/${name}`, "utf8")}\0`;
const preamble = `/* deniable client, Apache-2.0, of sources ${digest(sources.map(read).join(""))} */`;
/** One file of an entry. Two minifiers make less of it than either alone. */
const small = async (entry, mangled, plugins) => {
  const options = { ...common, entryPoints: [entry], format: "esm", target: "es2020", minify: true, plugins };
  const { code } = await minify((await build(options)).outputFiles[0].text, {
    module: true,
    compress: { passes: 3, ecma: 2020, unsafe_arrows: true },
    // Members of this bundle alone: nothing that is read of a document, or that other files and pages use, has such names.
    mangle: { properties: { regex: mangled } },
    format: { ecma: 2020, preamble },
  });
  return code;
};
// The second file and the translations are part of no bundle. Whichever holds the first names them by their digests, so that
// what is loaded is what was built with it.
const second = await small("src/further/index.ts", /^(polynomial|degree)$/, []);
const named = (name, content) => `${name}.${digest(content).slice(0, 16)}.js`;
const beside = { [named("further", second)]: second };
for (const name of readdirSync(`${root}client/src/languages`).sort()) {
  const content = `export default ${JSON.stringify(JSON.parse(readFileSync(`${root}client/src/languages/${name}`, "utf8")))};\n`;
  beside[named(name.replace(/\.json$/, ""), content)] = content;
}
const place = (name) => ({ path: `./${Object.keys(beside).find((one) => one.startsWith(`${name}.`))}`, external: true });
const apart = {
  name: "apart",
  setup: (one) => {
    one.onResolve({ filter: /\/further\/index\.js$/ }, () => place("further"));
    one.onResolve({ filter: /\/languages\/[a-z]+\.json$/ }, ({ path }) => place(/([a-z]+)\.json$/.exec(path)[1]));
  },
};
const first = await small("src/index.ts", /^(_\w+|own|optionalText)$/, [apart]);
const sheet = await build({ ...common, entryPoints: ["survey.css"], minify: true, target: "chrome105" });

const size = (name, content) =>
  console.log(`${name}: ${Buffer.byteLength(content)} bytes, ${gzipSync(content, { level: 9 }).length} gzip`);
const files = { "survey.js": first, ...beside, "survey.css": sheet.outputFiles[0].text };
for (const old of readdirSync(target)) if (/^[a-z]+\.[0-9a-f]{16}\.js$/.test(old)) rmSync(target + old);
for (const [name, content] of Object.entries(files)) {
  writeFileSync(`${target}${name}`, content);
  size(name, content);
}
// What the npm package has: the page, and three modules of their own; the second file is the page's.
const packed = process.argv[2] ? process.argv[3] : `${root}client/dist/`;
if (packed) {
  rmSync(packed, { recursive: true, force: true });
  mkdirSync(packed, { recursive: true });
  for (const [name, content] of Object.entries(files)) writeFileSync(`${packed}${name}`, content);
  // A page that has the element may set every colour of the sheet: --deniable-accent for --accent.
  const opened = files["survey.css"].replace(/--([a-z-]+):([^;}]+)/g, "--$1:var(--deniable-$1,$2)");
  const style = {
    name: "style",
    setup: (one) => one.onLoad({ filter: /survey\.css$/ }, () => ({ contents: opened, loader: "text" })),
  };
  // The adapter imports the module beside it, which a page has already.
  const neighbour = {
    name: "neighbour",
    setup: (one) => one.onResolve({ filter: /^\.\/index\.js$/ }, () => ({ path: "./client.js", external: true })),
  };
  for (const [name, source] of Object.entries({ client: "index", element: "element", surveyjs: "surveyjs" })) {
    const options = { ...common, format: "esm", target: "es2020", minify: true, plugins: [style, neighbour, apart] };
    const made = await build({ ...options, entryPoints: [`package/${source}.ts`] });
    const code = made.outputFiles[0].text;
    writeFileSync(`${packed}${name}.js`, code);
    size(`${name}.js`, code);
  }
}
