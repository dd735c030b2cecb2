// Pyodide's standard library, compiled: the zip it ships holds sources, which every start would compile again in wasm.
import { readFile } from "node:fs/promises";
import { loadPyodide } from "pyodide";

/** The library as one zip of stored (not deflated) .pyc files, the same bytes every time. */
export async function compiledStdlib() {
  const from = (name) => new URL(`node_modules/pyodide/${name}`, import.meta.url);
  // The hash seed fixes the order of sets in the compiled code, and so the file's name.
  const pyodide = await loadPyodide({ env: { PYTHONHASHSEED: "0" } });
  pyodide.FS.writeFile("source.zip", await readFile(from("python_stdlib.zip")));
  pyodide.runPython(await readFile(new URL("stdlib.py", import.meta.url), "utf8"));
  return Buffer.from(pyodide.FS.readFile("compiled.zip"));
}
