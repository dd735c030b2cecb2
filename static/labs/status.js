// The status line of a live attempt: what the database says, and within a run what the stream says.
import { say } from "./text.js";

const STALLED_MS = 5_000;

export class StatusLine {
  constructor(panel) {
    this.panel = panel;
    this.now = { state: panel.dataset.state, version: Number(panel.dataset.version) };
    this.activity = "";
    this.stopping = false;
    this.tokenAt = 0;
    this.due = false;
  }

  get text() {
    return document.getElementById("status-text").textContent;
  }

  // True when there is something to tell.
  take(state) {
    const changed = state.state !== this.now.state || state.place !== this.now.place;
    // A run begins anew: what the last one did says nothing about this one.
    if (state.state === "running" && this.now.state !== "running") this.activity = "starting";
    this.now = state;
    this.show();
    return changed;
  }

  act(activity, reading) {
    if (activity === "streaming") this.tokenAt = performance.now();
    this.activity = activity;
    this.reading = reading;
    this.due = true;
  }

  tick(now) {
    if (this.activity === "streaming" && now - this.tokenAt > STALLED_MS) this.activity = "stalled";
    if (this.due || this.activity === "stalled") this.show();
  }

  show() {
    this.due = false;
    const { state } = this.now;
    this.panel.dataset.state = state;
    this.panel.dataset.activity = state === "running" ? this.activity : "";
    document.getElementById("status").dataset.state = state;
    put("status-word", say(`word.${state}`));
    put("past-state", say(`word.${state}`));
    put("status-text", state === "queued" && !this.stopping ? this.queued() : this.running());
  }

  queued() {
    const { place, wait_low_s: low, wait_high_s: high, returned, back_ahead: back, practice } = this.now;
    const { partner, partner_until: time } = this.now;
    if (partner) return say(`state.partner_${partner}`, { time });
    let where = say("state.queued_noplace");
    if (place) where = high == null ? say("state.queued_unknown", { place }) : say("state.queued", { place, low, high });
    if (practice) where = place && high != null ? say("state.practice", { place, low, high }) : say("state.practice_unknown");
    return [returned && say("state.returned"), where, back && say("state.back_ahead"), ...this.why()].filter(Boolean).join(" ");
  }

  // What keeps it waiting besides others: words of the page, and what an admin wrote.
  why() {
    const { why, why_note: note, why_until: until } = this.now;
    return why ? [say(`why.${why}`, { until }), note] : [];
  }

  running() {
    if (this.now.cancel_requested || this.stopping) return say("state.stopping");
    if (this.activity === "reading") return this.reading?.total ? say("state.reading", this.reading) : say("state.sent");
    if (this.activity === "stalled") {
      return say("state.stalled", { seconds: Math.floor((performance.now() - this.tokenAt) / 1000) });
    }
    return say(`state.${this.activity || "starting"}`);
  }
}

function put(id, text) {
  const node = document.getElementById(id);
  if (node && node.textContent !== text) node.textContent = text;
}
