// Watching recorded streams again, one or two on a common clock. Every word of a model is a text node.
import { ms, say } from "./text.js";

const CALM = matchMedia("(prefers-reduced-motion: reduce)");
const CALM_MS = 500;

export function wireReplay(root = document) {
  for (const box of root.querySelectorAll("[data-replay]:not([data-wired])")) {
    box.dataset.wired = "yes";
    const player = new Player(box);
    box.addEventListener("toggle", () => (box.open ? player.begin() : player.pause()));
  }
  for (const button of root.querySelectorAll("[data-replay-pick]")) {
    button.hidden = false;
    button.onclick = () => pick(button.dataset.replayPick);
  }
}

function pick(url) {
  const box = document.querySelector("[data-replay]");
  box.querySelector("[data-side]").value = url;
  box.querySelector("[data-side]").dispatchEvent(new Event("change"));
  box.open = true;
  box.scrollIntoView({ block: "nearest" });
  box.querySelector("[data-act=play]").focus();
}

// 'Run 1: Cold'
const nameOf = (select) => {
  const chosen = select.selectedOptions[0];
  return chosen?.value ? `${chosen.parentElement.label}: ${chosen.textContent}` : "";
};

class Player {
  constructor(box) {
    this.box = box;
    this.at = 0;
    this.playing = false;
    this.clock = box.querySelector("[data-clock]");
    this.scrub = box.querySelector("[data-scrub]");
    this.panes = [...box.querySelectorAll("[data-pane]")].map((node) => new Pane(node, (us) => this.jump(us)));
    box.querySelectorAll("[data-side]").forEach((select, side) => {
      select.addEventListener("change", () => this.load(side, select.value, nameOf(select)));
    });
    const acts = { play: () => this.toggle(), back: () => this.step(-1), next: () => this.step(1), start: () => this.jump(0) };
    for (const [name, act] of Object.entries(acts)) box.querySelector(`[data-act=${name}]`).addEventListener("click", act);
    this.scrub.addEventListener("input", () => this.jump(Number(this.scrub.value) * 1000));
    box.querySelector("[data-keys]").addEventListener("keydown", (event) => this.key(event, acts));
  }

  get speed() {
    return Number(this.box.querySelector("[data-speed]").value);
  }

  get end() {
    return Math.max(0, ...this.panes.map((pane) => pane.stream?.end_us ?? 0));
  }

  // Loads only when it is looked at.
  begin() {
    const first = this.box.querySelector("[data-side]");
    if (!this.panes[0].stream && first.value) this.load(0, first.value, nameOf(first));
  }

  async load(side, url, title) {
    const pane = this.panes[side];
    pane.clear();
    pane.url = url;
    if (url) {
      try {
        const response = await fetch(url, { headers: { Accept: "application/json" }, redirect: "error" });
        if (!response.ok) throw new Error(String(response.status));
        const stream = await response.json();
        if (pane.url !== url) return; // another one was chosen meanwhile
        pane.show(stream, url, title);
      } catch {
        if (pane.url === url) pane.fail();
        return;
      }
    }
    this.scrub.max = String(Math.ceil(this.end / 1000));
    this.jump(Math.min(this.at, this.end));
  }

  key(event, acts) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("select, input")) return;
    const act = { " ": "play", ",": "back", ".": "next", Home: "start" }[event.key];
    if (!act || (event.key === " " && event.target.matches("button, summary, a"))) return;
    event.preventDefault();
    acts[act]();
  }

  toggle() {
    if (this.playing) return this.pause(true);
    if (!this.end) return;
    if (this.at >= this.end) this.jump(0);
    this.playing = true;
    this.label();
    let last = performance.now();
    const beat = () => {
      if (!this.playing) return;
      const now = performance.now();
      this.to(Math.min(this.at + (now - last) * 1000 * this.speed, this.end));
      last = now;
      if (this.at >= this.end) this.pause(true);
      else this.later(beat);
    };
    this.later(beat);
  }

  // With reduced motion the panes move twice a second instead of at every frame of the screen.
  later(beat) {
    if (CALM.matches) setTimeout(beat, CALM_MS);
    else requestAnimationFrame(beat);
  }

  pause(tell = false) {
    this.playing = false;
    this.label();
    if (tell) this.tell();
  }

  label() {
    this.box.dataset.playing = this.playing ? "yes" : "no";
    this.box.querySelector("[data-act=play]").textContent = say(this.playing ? "replay.pause" : "replay.play");
  }

  // To the next frame of either stream; frames of one read move together.
  step(way) {
    this.pause();
    const times = this.panes.flatMap((pane) => pane.times);
    const next = way > 0 ? Math.min(...times.filter((us) => us > this.at)) : Math.max(0, ...times.filter((us) => us < this.at));
    this.jump(Number.isFinite(next) ? next : this.end);
  }

  jump(us) {
    this.to(us);
    if (!this.playing) this.tell();
  }

  to(us) {
    this.at = us;
    this.clock.textContent = ms(us);
    this.scrub.value = String(Math.round(us / 1000));
    this.scrub.setAttribute("aria-valuetext", ms(us));
    for (const pane of this.panes) pane.to(us);
  }

  // What a screen reader hears when the picture stands still.
  tell() {
    const words = this.panes.filter((pane) => pane.stream).map((pane) => pane.place());
    this.box.querySelector("[data-said]").textContent = `${ms(this.at)}. ${words.join(" ")}`;
  }
}

class Pane {
  constructor(node, jump) {
    this.node = node;
    this.jump = jump;
    this.url = null;
    this.words = document.createTextNode("");
    node.querySelector("[data-words]").replaceChildren(this.words);
    this.clear();
  }

  get times() {
    return this.stream ? this.stream.frames.map(([at]) => at) : [];
  }

  clear() {
    this.stream = null;
    this.count = -1;
    this.words.data = "";
    for (const name of ["marks", "raw", "place"]) this.node.querySelector(`[data-${name}]`).replaceChildren();
    this.node.hidden = true;
  }

  fail() {
    this.node.hidden = false;
    this.node.querySelector("[data-place]").textContent = say("replay.failed");
  }

  show(stream, url, title) {
    this.stream = stream;
    this.node.querySelector("[data-title]").textContent = title;
    this.count = -1;
    this.node.hidden = false;
    this.node.querySelector("[data-download]").href = url.replace(/replay$/, "frames");
    // `ends[i]`: how much of the text is there once i frames have come.
    this.text = stream.frames.map(([, , text]) => text).join("");
    this.ends = [0];
    for (const [, , text] of stream.frames) this.ends.push(this.ends.at(-1) + text.length);
    this.node.querySelector("[data-marks]").replaceChildren(...stream.marks.map((mark) => this.mark(mark)));
    this.rows = stream.frames.map(([at, kind, , raw]) => row(at, kind, raw));
    this.node.querySelector("[data-raw]").replaceChildren(...this.rows);
  }

  mark([at, name, words]) {
    const item = document.createElement("li");
    const button = document.createElement("button");
    const time = document.createElement("span");
    Object.assign(button, { type: "button", className: "mark" });
    button.dataset.mark = name;
    button.dataset.at = String(at);
    Object.assign(time, { className: "num", textContent: ms(at) });
    button.append(words, " ", time);
    button.addEventListener("click", () => this.jump(at));
    item.append(button);
    return item;
  }

  to(us) {
    if (!this.stream) return;
    const count = this.times.filter((at) => at <= us).length;
    for (const mark of this.node.querySelectorAll("[data-at]")) mark.toggleAttribute("data-past", Number(mark.dataset.at) <= us);
    if (count === this.count) return;
    this.rows[this.count - 1]?.removeAttribute("aria-current");
    this.count = count;
    this.words.data = this.text.slice(0, this.ends[count]);
    const pre = this.node.querySelector("[data-words]");
    pre.scrollTop = pre.scrollHeight;
    this.node.querySelector("[data-place]").textContent = this.place();
    const now = this.rows[count - 1];
    if (!now) return;
    now.setAttribute("aria-current", "true");
    const list = now.parentElement;
    if (list.clientHeight) list.scrollTop = now.offsetTop - list.clientHeight / 2;
  }

  place() {
    return say("replay.place", { count: this.count, all: this.stream.frames.length, chars: this.ends[this.count] });
  }
}

function row(at, kind, raw) {
  const item = document.createElement("li");
  const time = document.createElement("span");
  const code = document.createElement("code");
  item.dataset.kind = kind;
  Object.assign(time, { className: "num", textContent: ms(at) });
  code.textContent = raw.trimEnd() || "⏎";
  item.append(time, code);
  return item;
}
