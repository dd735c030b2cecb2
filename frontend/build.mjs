// Builds static/build/: one self-contained bundle a page that needs one, the sealed worker, and what it loads.
// `.mjs` names: Django hashes them without rewriting the imports inside, of which a bundle has none.
import { build } from "esbuild";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename } from "node:path";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import { compiledStdlib } from "./stdlib.mjs";

const OUT = new URL("../static/build/", import.meta.url);
// Quality 11 saves 6 percent; for Python's 17 MB it takes a minute.
const LARGE_BYTES = 2_000_000;
const brotli = ({ length }) => ({
  params: { [constants.BROTLI_PARAM_QUALITY]: length > LARGE_BYTES ? 9 : 11, [constants.BROTLI_PARAM_LGWIN]: 24 },
});

/** Writes a file with its compressed copies beside it, so that no deployment compresses it again. */
async function put(name, data) {
  const write = (suffix, bytes) => writeFile(new URL(`${name}${suffix}`, OUT), bytes);
  await Promise.all([
    write("", data),
    promisify(brotliCompress)(data, brotli(data)).then((small) => write(".br", small)),
    promisify(gzip)(data, { level: 9 }).then((small) => write(".gz", small)),
  ]);
}

async function bundles() {
  const { outputFiles } = await build({
    entryPoints: { "read-sse": "src/read-sse.js", rerun: "src/rerun.js", frame: "src/frame.js", sandbox: "src/sandbox.js", plots: "src/plots.js" },
    absWorkingDir: import.meta.dirname,
    outdir: OUT.pathname,
    outExtension: { ".js": ".mjs" },
    write: false,
    bundle: true,
    minify: true,
    format: "esm",
    target: ["es2022"],
    loader: { ".py": "text" },
    external: ["node:*", "ws"],
    legalComments: "eof",
    logLevel: "warning",
  });
  await Promise.all(outputFiles.map(({ path, contents }) => put(basename(path), contents)));
}

await rm(OUT, { recursive: true, force: true });
await mkdir(OUT, { recursive: true });
const wasm = await readFile(new URL("node_modules/pyodide/pyodide.asm.wasm", import.meta.url));
await Promise.all([
  put("python.wasm", wasm),
  bundles(),
  compiledStdlib().then((zip) => put("python-stdlib.bin", zip)),
]);
