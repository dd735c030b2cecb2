// Pyodide's standard library, compiled: the zip it ships holds sources, which every start would compile again in wasm.
import { createHash } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { loadPyodide } from "pyodide";

const here = (name) => new URL(name, import.meta.url);

/** The library as one zip of stored (not deflated) .pyc files, the same bytes every time. Kept beside the packages. */
export async function compiledStdlib() {
  const source = await readFile(here("node_modules/pyodide/python_stdlib.zip"));
  const compiler = await readFile(here("stdlib.py"));
  const key = createHash("sha256").update(source).update(compiler).digest("hex").slice(0, 16);
  const kept = here(`node_modules/.cache/stdlib-${key}.zip`);
  return readFile(kept).catch(async () => {
    const zip = await compile(source, compiler.toString());
    await mkdir(here("node_modules/.cache/"), { recursive: true });
    await writeFile(kept, zip);
    return zip;
  });
}

async function compile(source, compiler) {
  // The hash seed fixes the order of sets in the compiled code, and so the file's hashed name.
  const pyodide = await loadPyodide({ env: { PYTHONHASHSEED: "0" } });
  pyodide.FS.writeFile("source.zip", source);
  pyodide.runPython(compiler);
  return Buffer.from(pyodide.FS.readFile("compiled.zip"));
}
