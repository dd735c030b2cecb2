// The sealed worker: Python for a student's code. Its own response header leaves it no network and no origin of
// scripts (labhub_voice/static.py); it refuses to start where that header is missing.
import createPyodideModule from "pyodide/pyodide.asm.mjs";
import { loadPyodide } from "pyodide";
import { info } from "pyodide/pyodide-lock.json";
import harness from "./harness.py";

const post = self.postMessage.bind(self);
const HERE = "http://sealed.invalid/";
// Ways to storage or to other pages that no policy closes. Python cannot see them either (jsglobals below).
const DOORS = [
  "fetch", "XMLHttpRequest", "WebSocket", "WebSocketStream", "WebTransport", "EventSource", "Worker", "importScripts",
  "indexedDB", "caches", "cookieStore", "BroadcastChannel", "navigator", "postMessage", "Notification",
];

addEventListener("message", ({ data }) => start(data), { once: true });

async function start({ module, stdlib, probe }) {
  try {
    if (!(await isSealed(probe))) return post({ kind: "unsealed" });
    const python = await load(module, stdlib);
    shutDoors();
    const runAll = python.globals.get("run_all");
    addEventListener("message", ({ data }) => post({ kind: "done", id: data.id, text: runAll(data.request) }));
    post({ kind: "ready", python: python.globals.get("version") });
  } catch (error) {
    post({ kind: "failed", why: String(error).slice(0, 500) });
  }
}

/** True only where both the network and code from text are refused: one alone may have other causes. */
async function isSealed(probe) {
  try {
    (0, eval)("1");
    return false;
  } catch (error) {
    if (!(error instanceof EvalError)) return false;
  }
  try {
    await fetch(probe, { cache: "no-store" });
    return false;
  } catch {
    return true;
  }
}

async function load(module, stdlib) {
  // Both came with the message; Pyodide asks for them by address all the same.
  self.fetch = async (url) => new Response(String(url).endsWith("stdlib") ? stdlib : null);
  WebAssembly.instantiateStreaming = async (_response, imports) => ({
    module,
    instance: await WebAssembly.instantiate(module, imports),
  });
  const python = await loadPyodide({
    createPyodideModule,
    indexURL: HERE,
    stdLibURL: `${HERE}stdlib`,
    packageBaseUrl: HERE,
    lockFileContents: { info, packages: {} },
    jsglobals: { Object, setTimeout, clearTimeout },
    stdin: () => null,
  });
  python.runPython("import sys; version = sys.version.split()[0]");
  python.runPython(harness, { filename: "harness.py" });
  return python;
}

function shutDoors() {
  for (let at = self; at; at = Object.getPrototypeOf(at)) for (const door of DOORS) Reflect.deleteProperty(at, door);
}
