// Builds the page into the package: one script, one style sheet, and the hash of the sources that they were made from.
import { createHash } from "node:crypto";
import { copyFileSync, readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const target = join(here, "..", "src", "paribus", "explore", "static");

await build({
  entryPoints: { app: join(here, "src", "main.tsx") },
  outdir: target,
  bundle: true,
  minify: true,
  charset: "utf8",
  target: "es2022",
  jsx: "automatic",
  jsxImportSource: "preact",
  legalComments: "none",
});
for (const name of ["index.html", "icon.svg"]) copyFileSync(join(here, "src", name), join(target, name));

// Whoever bundles a library passes on its license.
const licenses = ["preact", "@preact/signals", "@preact/signals-core"].map(
  (name) => `${name}\n\n${readFileSync(join(here, "node_modules", name, "LICENSE"), "utf8").trim()}\n`,
);
writeFileSync(join(target, "LICENSES.txt"), licenses.join("\n----\n\n"));

// The test of what is committed computes the same.
const hash = createHash("sha256");
for (const name of ["package-lock.json", ...readdirSync(join(here, "src")).sort().map((each) => `src/${each}`)]) {
  hash.update(`${name}\n`);
  hash.update(readFileSync(join(here, name)));
}
writeFileSync(join(target, "sources.sha256"), `${hash.digest("hex")}\n`);
for (const name of ["app.js", "app.css"]) console.log(name, statSync(join(target, name)).size, "bytes");
