// The growing timeline's rows, one a request, fed by live events.
import { draw } from "./timeline.js";

export class Lanes {
  constructor(figure) {
    this.figure = figure;
    this.rows = new Map();
    this.dirty = false;
  }

  clear() {
    this.rows.clear();
    this.dirty = true;
  }

  open(key, title) {
    this.rows.set(key, { key, title, marks: {}, ticks: [], heard_us: 0, at: 0, heardAt: performance.now(), open: true });
    this.dirty = true;
  }

  get anyOpen() {
    return [...this.rows.values()].some((row) => row.open);
  }

  // Notes that the row has come as far as `at_us`; the row, or nothing to write to.
  reach(key, at_us) {
    const row = this.rows.get(key);
    if (!row) return { marks: {}, ticks: [] };
    row.heard_us = row.at = Math.max(row.heard_us, at_us ?? 0);
    row.heardAt = performance.now();
    this.dirty = true;
    return row;
  }

  progress({ key, at_us }) {
    this.reach(key, at_us).marks.headers ??= at_us;
  }

  first({ key, ttft_us }) {
    this.reach(key, ttft_us).marks.first = ttft_us;
  }

  tokens({ key, at_us }) {
    const row = this.reach(key, at_us);
    row.marks.first ??= at_us;
    row.marks.last = at_us;
    row.ticks.push(at_us);
  }

  sentence({ key, at_us }) {
    this.reach(key, at_us).marks.sentence = at_us;
  }

  slot({ key, at_us, busy }) {
    const row = this.rows.get(key);
    if (!row || busy || row.marks.cut === undefined) return;
    this.reach(key, at_us).marks.idle ??= at_us;
  }

  recorded({ key, end, end_us, closed_us }) {
    const row = this.reach(key, closed_us ?? end_us);
    row.open = false;
    row.at = row.heard_us;
    if (end === "cut" || end === "held") row.marks.cut = closed_us ?? row.at;
    row.marks.end = end_us ?? row.at;
  }

  // Between two events an open row grows by the page's clock; the next event puts it right.
  tick(now) {
    for (const row of this.rows.values()) {
      if (!row.open || document.hidden) continue;
      row.at = row.heard_us + (now - row.heardAt) * 1000;
      this.dirty = true;
    }
    if (this.dirty) draw(this.figure, [...this.rows.values()]);
    this.dirty = false;
  }
}
