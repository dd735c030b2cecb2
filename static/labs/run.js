// The run panel: events in, words, panes and lanes out. Ends by fetching the verdict from the server.
import { alarm, announce } from "./announce.js";
import { Lanes } from "./lanes.js";
import { Link } from "./link.js";
import { speakLive } from "./listen.js";
import { Notices } from "./notice.js";
import { StatusLine } from "./status.js";
import { swapFrom } from "./swap.js";
import { has, ms, say } from "./text.js";
import { TokenPanes } from "./tokens.js";

const TICK_MS = 100;
const FETCH_TRIES = 6;

export class RunPanel {
  constructor(panel, afterSwap) {
    Object.assign(this, { panel, afterSwap });
    this.titles = JSON.parse(panel.dataset.titles || "{}");
    // Runs of earlier rounds are in the page already, from the database.
    this.firstRun = Number(panel.dataset.firstRun || 1);
    this.panes = new TokenPanes(document.getElementById("tokens"), document.querySelector(".to-newest"));
    this.lanes = new Lanes(document.getElementById("timeline"));
    this.status = new StatusLine(panel);
    this.notices = new Notices(panel);
    this.run = 0;
    this.ended = false;
  }

  start() {
    const { socket, events, after } = this.panel.dataset;
    this.link = new Link({
      socketUrl: socket,
      eventsUrl: events,
      after,
      onEvent: (event) => this.take(event),
      onLink: (state, code) => this.notices.link(state, code),
    });
    this.link.start();
    this.ticker = setInterval(() => this.tick(), TICK_MS);
    document.getElementById("stop")?.addEventListener("submit", (event) => this.stop(event));
  }

  tick() {
    const now = performance.now();
    this.lanes.tick(now);
    this.status.tick(now);
  }

  take(event) {
    if (this.ended) return;
    this.notices.heardAt = new Date();
    if (event.id) {
      this.panel.dataset.after = `${event.id.run}.${event.id.seq}`;
      if (event.id.run < this.firstRun) return;
      if (event.id.run !== this.run) this.beginRun(event.id.run);
    }
    this[`on_${event.kind}`]?.(event);
  }

  beginRun(run) {
    this.run = run;
    this.panel.dataset.run = String(run);
    this.panes.clear();
    this.lanes.clear();
    if (run > this.firstRun) this.panes.note(say("pane.repeat", { run }));
    this.status.act("starting");
  }

  on_state(state) {
    if (state.version < this.status.now.version) return;
    if (state.state !== "queued" && state.state !== "running") this.end(state.state);
    else if (this.status.take(state)) announce(this.status.text);
  }

  on_finished() {
    this.end("finished");
  }

  on_ask({ key, title, n }) {
    const name = this.titles[key] ?? (typeof title === "string" && title ? title : key);
    this.panes.open(key, name, n ? say("pane.prompt", { n }) : "");
    this.lanes.open(key, name);
    this.status.act("reading");
  }

  on_progress(event) {
    this.lanes.progress(event);
    this.status.act("reading", { processed: event.processed, total: event.total });
  }

  on_first_token(event) {
    this.lanes.first(event);
    announce(say("announce.first_token", { ms: Math.round(event.ttft_us / 1000) }));
  }

  on_tokens(event) {
    this.lanes.tokens(event);
    this.panes.add(event.key, event.text);
    this.status.act("streaming");
  }

  on_first_sentence(event) {
    this.lanes.sentence(event);
    speakLive(event.text);
  }

  on_slot(event) {
    this.lanes.slot(event);
  }

  on_note({ key, text }) {
    const words = this.titles[key] ?? (typeof text === "string" ? text : text?.msgid);
    if (words) this.panes.note(words);
  }

  on_recorded(event) {
    this.lanes.recorded(event);
    const { key, end, ttft_us, cache_n, prompt_n, predicted_n } = event;
    const figures = say("pane.figures", { ttft: ms(ttft_us), cache_n, prompt_n, predicted_n });
    this.panes.figures(key, has(`end.${end}`) ? `${figures} · ${say(`end.${end}`)}` : figures);
    if (!this.lanes.anyOpen) this.status.act("between");
  }

  on_reset({ to }) {
    if (!to || Number(to.split(".")[0]) >= this.firstRun) this.notices.gap();
  }

  // The page stays and keeps what has arrived; where that fails, the form is sent as without a script.
  stop(event) {
    event.preventDefault();
    this.status.stopping = true;
    this.status.show();
    announce(say("state.stopping"));
    const form = event.target;
    const plainly = () => HTMLFormElement.prototype.submit.call(form);
    fetch(form.action, {
      method: "POST",
      body: new FormData(form),
      headers: { Accept: "application/json" },
      redirect: "error",
    }).then((response) => {
      if (!response.ok) return plainly();
      if (this.link.stopped) this.end("cancelled"); // nobody else would tell
    }, plainly);
  }

  async end(state) {
    if (this.ended) return;
    this.ended = true;
    clearInterval(this.ticker);
    this.link.stop();
    this.panes.flush(performance.now());
    document.getElementById("status-text").textContent = say("state.grading");
    for (let tries = 1; tries <= FETCH_TRIES; tries += 1) {
      try {
        await swapFrom(this.panel.dataset.panel);
        const passed = document.querySelector("#outcome-title .hint")?.textContent.trim();
        const end = say(state === "open" ? "announce.open" : "announce.finished");
        announce(passed ? `${end} ${passed}.` : end);
        return this.afterSwap();
      } catch {
        await new Promise((resolve) => setTimeout(resolve, Math.random() * 500 * 2 ** tries));
      }
    }
    return alarm(say("state.unfetched"));
  }
}
