// The page of the step about reading a stream: an editor over the plain field, Python beside it, and the results.
import { Editor } from "./editor.js";
import { posted } from "./posted.js";
import { Python } from "./python.js";
import { showOutcome, showStreams } from "./show.js";
import { fill } from "./text.js";

class SseLab extends HTMLElement {
  #ran = null; // the source that the results belong to
  #marked = null; // {line, message} where it stopped

  connectedCallback() {
    this.form = this.closest("form");
    this.field = this.querySelector("textarea");
    this.results = this.form.elements.namedItem("results");
    this.streams = JSON.parse(this.#part("#sse-streams-data").textContent);
    this.strings = JSON.parse(this.#part("#sse-strings").textContent);
    this.abort = new AbortController();
    for (const part of this.querySelectorAll("[data-with-script]")) part.hidden = false;
    this.#restoreDraft();
    this.#showEditor(true);
    this.#listen();
    this.python = new Python({
      worker: this.dataset.worker,
      wasm: this.dataset.wasm,
      stdlib: this.dataset.stdlib,
      probe: new URL(this.dataset.probe, location.href).href,
    });
    this.python.addEventListener("state", () => this.#sayState());
    this.#sayState();
    this.python.start();
  }

  disconnectedCallback() {
    this.abort.abort();
    this.editor?.close();
    this.python.close();
  }

  get source() {
    return this.editor ? this.editor.text : this.field.value;
  }

  async run() {
    const source = this.source;
    const result = await this.python.run(source, this.streams);
    this.#ran = source;
    this.results.value = JSON.stringify(posted(result));
    const outcome = this.#part("[data-outcome]");
    this.#marked = showOutcome(outcome, result, this.streams, (key, params) => this.#say(key, params));
    this.#mark();
    const given = Object.values(result.answers).flatMap(Object.values);
    const asked = Object.keys(result.answers).flatMap((name) => Object.keys(this.streams[name]));
    const answers = given.filter((answer) => answer.value).length;
    this.#status(result.killed ? this.#say("killed") : this.#say("ran", { answers, streams: asked.length }));
  }

  #listen() {
    const options = { signal: this.abort.signal };
    this.#part("[data-run]").addEventListener("click", () => this.python.state === "ready" && this.run(), options);
    this.#part("[data-plain]").addEventListener("change", (event) => this.#showEditor(!event.target.checked), options);
    this.#part(".sse-streams").addEventListener(
      "toggle",
      () => showStreams(this.#part("[data-streams]"), this.streams, (key, params) => this.#say(key, params)),
      { ...options, once: true },
    );
    for (const input of this.querySelectorAll("[data-open]")) input.addEventListener("change", () => this.#open(input), options);
    this.field.addEventListener("input", () => this.#changed(), options);
    this.form.addEventListener("submit", (event) => this.#beforeSubmit(event), { ...options, capture: true });
    addEventListener("pagehide", (event) => event.persisted || this.python.close(), options);
  }

  /** What is sent must be what this source gives: where it has not run, it runs first. */
  async #beforeSubmit(event) {
    this.field.value = this.source;
    if (this.#ran === this.source || this.python.state === "unavailable") return;
    event.preventDefault();
    event.stopImmediatePropagation();
    if (this.sending) return;
    this.sending = true;
    try {
      if (this.python.state !== "ready") this.#status(this.#say("then"));
      await this.#settled();
      if (this.python.state === "ready") await this.run();
    } finally {
      this.sending = false;
    }
    this.form.requestSubmit(event.submitter);
  }

  #settled() {
    const isSettled = () => this.python.state === "ready" || this.python.state === "unavailable";
    if (isSettled()) return Promise.resolve();
    return new Promise((resolve) => {
      const look = () => {
        if (!isSettled()) return;
        this.python.removeEventListener("state", look);
        resolve();
      };
      this.python.addEventListener("state", look);
    });
  }

  #showEditor(wanted) {
    const host = this.#part("[data-editor]");
    if (!wanted && this.editor) {
      this.field.value = this.editor.text;
      this.editor.close();
      this.editor = null;
    } else if (wanted && !this.editor) {
      this.editor = new Editor(host, {
        text: this.field.value,
        label: this.#say("editor"),
        onChange: () => this.#changed(),
      });
      this.#mark();
    }
    host.hidden = !wanted;
    this.field.hidden = wanted;
  }

  #mark() {
    this.editor?.mark(this.#marked?.line, this.#marked?.message);
  }

  #changed() {
    this.#marked = null;
    sessionStorage.setItem(this.#draftKey, this.source);
    if (this.#ran !== null && this.python.state === "ready") this.#status(this.#say(this.#ran === this.source ? "ready" : "old"));
  }

  /** Kept in this tab alone, so that a reload or a login in between loses nothing and a shared machine shows nothing. */
  #restoreDraft() {
    const draft = sessionStorage.getItem(this.#draftKey);
    if (draft !== null && this.field.value === this.field.defaultValue) this.field.value = draft;
  }

  get #draftKey() {
    return `sse.py ${location.pathname}`;
  }

  async #open(input) {
    const [file] = input.files;
    if (!file) return;
    const text = await file.slice(0, 200_000).text();
    if (text.includes("\0")) return this.#status(this.#say("bad_file"));
    if (input.dataset.open === "results") {
      this.results.value = text;
      this.#ran = this.source; // these answers are what is to be sent
    } else {
      this.field.value = text;
      if (this.editor) this.editor.text = text;
      this.#changed();
    }
    this.#status(this.#say("opened", { name: file.name }));
  }

  #sayState() {
    const { state, why, version } = this.python;
    this.#part("[data-run]").setAttribute("aria-disabled", String(state !== "ready"));
    this.dataset.state = state;
    if (state === "unavailable") {
      this.#part("[data-terminal]").open = true;
      this.#status(why === "unsealed" ? this.#say("unsealed") : this.#say("unavailable", { why }));
    } else if (state !== "ready" || this.#ran === null) this.#status(this.#say(state, { version }));
  }

  #status(text) {
    this.#part("[data-state]").textContent = text;
  }

  #say(key, params = {}) {
    return fill(this.strings[key], { version: this.python?.version, ...params });
  }

  #part(selector) {
    return this.querySelector(selector);
  }
}

customElements.define("sse-lab", SseLab);
