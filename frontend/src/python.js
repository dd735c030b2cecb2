// Python beside the page: a sealed worker that runs one student's source on recorded streams, and is replaced when it
// hangs. Knows nothing of forms or editors. Everything that comes back is untrusted: size-capped text.
const SOFT_LIMIT_S = 2; // the code is stopped in its line
const LATE_MS = 2_600; // then a spare is made ready
const HARD_LIMIT_MS = 4_000; // and the worker ended
const MOST_CHARACTERS = 2_000_000;

// Where the workers live: here beside the page, or in a frame (framed.js).
const HERE = {
  load: (wasm) => WebAssembly.compileStreaming(fetch(wasm)),
  worker: (url) => new Worker(url, { type: "module", name: "sse.py" }),
};

/** States: "starting", "ready", "running", or "unavailable" with `why`. Tells them by "state" events. */
export class Python extends EventTarget {
  #urls;
  #house;
  #parts; // the compiled module and the library, fetched once
  #current = null;
  #spare = null;
  #run = null;
  #ids = 0;

  /** `urls`: {worker, wasm, stdlib, probe}, probe being an address that answers where nothing is sealed. */
  constructor(urls, house = HERE) {
    super();
    this.#urls = urls;
    this.#house = house;
    this.state = "starting";
    this.why = "";
    this.version = "";
  }

  async start() {
    try {
      this.#parts ??= Promise.all([
        this.#house.load(this.#urls.wasm),
        fetch(this.#urls.stdlib).then((response) => (response.ok ? response.arrayBuffer() : Promise.reject(response.status))),
      ]);
      await this.#parts;
      this.#current = this.#spawn();
      await this.#current.ready;
      this.#tell("ready");
    } catch (error) {
      this.#tell("unavailable", String(error?.message ?? error));
    }
  }

  /** Resolves to {answers, problem, output, killed}. One run at a time. */
  run(source, streams) {
    if (this.state !== "ready") return Promise.reject(new Error(`Python is ${this.state}`));
    this.#tell("running");
    const id = ++this.#ids;
    const request = JSON.stringify({ source, streams, limit_s: SOFT_LIMIT_S });
    const run = new Promise((resolve) => {
      const late = setTimeout(() => (this.#spare ??= this.#spawn()), LATE_MS);
      const hard = setTimeout(() => this.#kill(), HARD_LIMIT_MS);
      this.#run = {
        id,
        end: (result) => {
          clearTimeout(late);
          clearTimeout(hard);
          this.#run = null;
          resolve(result);
        },
      };
      this.#current.worker.postMessage({ id, request });
    });
    return run.finally(() => this.#settle());
  }

  /** A worker that no code has run in yet, so that one source leaves nothing behind for the next. */
  async renew() {
    this.#current.worker.terminate();
    this.#current = this.#spawn();
    await this.#settle();
  }

  /** Ends the workers. The page has at most two, and one but for a moment. */
  close() {
    for (const one of [this.#current, this.#spare]) one?.worker.terminate();
    this.#current = this.#spare = null;
  }

  #spawn() {
    const worker = this.#house.worker(this.#urls.worker);
    const ready = new Promise((resolve, reject) => {
      worker.addEventListener("message", ({ data }) => {
        if (data.kind === "ready") resolve((this.version = String(data.python).slice(0, 20)));
        if (data.kind === "unsealed") reject(new Error("unsealed"));
        if (data.kind === "failed") reject(new Error(String(data.why).slice(0, 500)));
        if (data.kind === "done" && data.id === this.#run?.id) this.#run.end(read(data.text));
      });
      worker.addEventListener("error", (event) => {
        event.preventDefault();
        reject(new Error(event.message || "the worker did not start"));
        if (worker === this.#current?.worker) this.#kill();
      });
    });
    ready.catch(() => worker.terminate());
    this.#parts.then(([module, stdlib]) => worker.postMessage({ module, stdlib, probe: this.#urls.probe }));
    return { worker, ready };
  }

  /** The code did not come back, or took the worker down with it. */
  #kill() {
    if (!this.#run) return;
    this.#current.worker.terminate();
    this.#current = this.#spare ?? this.#spawn();
    this.#spare = null;
    this.#run.end({ answers: {}, problem: null, output: "", killed: true });
  }

  async #settle() {
    this.#spare?.worker.terminate(); // the run came back after all
    this.#spare = null;
    try {
      await this.#current.ready;
      this.#tell("ready");
    } catch (error) {
      this.#tell("unavailable", String(error.message));
    }
  }

  #tell(state, why = "") {
    this.state = state;
    this.why = why;
    this.dispatchEvent(new Event("state"));
  }
}

function read(text) {
  const broken = { answers: {}, problem: { error: "?", line: null, trace: "" }, output: "", killed: false };
  if (typeof text !== "string" || text.length > MOST_CHARACTERS) return broken;
  try {
    return { ...JSON.parse(text), killed: false };
  } catch {
    return broken;
  }
}
