// An instructor's page: every stored source of a class runs in a sealed frame, each in a worker of its own, on streams
// drawn fresh.
// The server judges what came out and says where that differs from the stored verdict.
import { framed } from "./framed.js";
import { posted } from "./posted.js";
import { Python } from "./python.js";
import { fill, make } from "./text.js";

class ClassRerun extends HTMLElement {
  connectedCallback() {
    const { streams, sources, token, strings } = JSON.parse(this.querySelector("#rerun-data").textContent);
    Object.assign(this, { streams, sources, token, strings });
    this.button = this.querySelector("[data-run]");
    this.button.hidden = false;
    this.button.addEventListener("click", () => this.python?.state === "ready" && !this.busy && this.#runAll());
    addEventListener("pagehide", (event) => event.persisted || this.python?.close());
    this.#sayState({ state: "starting" });
    this.#start();
  }

  async #start() {
    const { frame, worker, wasm, stdlib, probe } = this.dataset;
    try {
      const house = await framed(this, frame, worker);
      this.python = new Python({ worker, wasm, stdlib, probe: new URL(probe, location.href).href }, house);
      this.python.addEventListener("state", () => this.busy || this.#sayState(this.python));
      await this.python.start();
    } catch (error) {
      this.#sayState({ state: "unavailable", why: String(error?.message ?? error) });
    }
  }

  disconnectedCallback() {
    this.python?.close();
  }

  async #runAll() {
    this.busy = true;
    this.button.setAttribute("aria-disabled", "true");
    const rows = [...this.querySelectorAll("[data-source]")];
    let differ = 0;
    let failed = 0;
    for (const [i, row] of rows.entries()) {
      this.#status(this.#say("running", { number: i + 1, all: rows.length }));
      try {
        if (!(await this.#run(row))) differ += 1;
      } catch (error) {
        failed += 1;
        row.dataset.state = "failed";
        this.#result(row).replaceChildren(this.#say("not_run", { why: String(error?.message ?? error).slice(0, 200) }));
      }
    }
    this.busy = false;
    this.#sayState(this.python);
    this.#status(this.#say(failed ? "done_failed" : "done", { all: rows.length, differ, failed }));
  }

  /** True where the stored verdict is what this run gives. */
  async #run(row) {
    await this.python.renew();
    if (this.python.state !== "ready") throw new Error(this.python.why);
    const result = await this.python.run(this.sources[row.dataset.source], this.streams);
    const form = new FormData();
    form.set("token", this.token);
    form.set("results", JSON.stringify(posted(result)));
    const answer = await fetch(row.dataset.url, {
      method: "POST",
      body: form,
      headers: { "X-CSRFToken": this.querySelector("[name=csrfmiddlewaretoken]").value },
    });
    if (!answer.ok) throw new Error(String(answer.status));
    const { differences } = await answer.json();
    row.dataset.state = differences.length ? "differs" : "agrees";
    const lines = differences.map((one) => make("li", {}, make("strong", {}, one.title), ` ${one.said} `, make("span", { class: "hint" }, one.why)));
    this.#result(row).replaceChildren(
      differences.length ? make("ul", {}, ...lines) : this.#say("agrees"),
      ...(result.killed ? [make("p", {}, this.#say("killed"))] : []),
    );
    return differences.length === 0;
  }

  #result(row) {
    return row.querySelector("[data-result]");
  }

  #sayState({ state, why, version }) {
    this.dataset.state = state;
    this.button.setAttribute("aria-disabled", String(state !== "ready"));
    if (state === "unavailable") this.#status(why === "unsealed" ? this.#say("unsealed") : this.#say("unavailable", { why }));
    else if (state !== "running") this.#status(this.#say(state, { version }));
  }

  #status(text) {
    this.querySelector("[data-status]").textContent = text;
  }

  #say(key, params = {}) {
    return fill(this.strings[key], params);
  }
}

customElements.define("class-rerun", ClassRerun);
