// The model's words: text nodes only, appended together, at once after a pause and else some twenty times a second.
const BLOCK_CHARS = 2048;
const FLUSH_MS = 50;
const NEAR_BOTTOM_PX = 24;

export class TokenPanes {
  constructor(host, toNewest) {
    this.host = host;
    this.toNewest = toNewest;
    this.panes = new Map();
    this.waiting = new Map();
    this.timer = 0;
    this.flushedAt = -FLUSH_MS;
    toNewest?.querySelector("button").addEventListener("click", () => this.scrollDown());
    host.addEventListener("scroll", () => this.isAtBottom() && this.showToNewest(false), { passive: true });
  }

  clear() {
    this.panes.clear();
    this.waiting.clear();
    this.host.replaceChildren();
    this.showToNewest(false);
  }

  open(key, title, small = "") {
    if (this.panes.has(key)) return this.panes.get(key);
    const section = document.createElement("section");
    const heading = document.createElement("h3");
    const pre = document.createElement("pre");
    const figures = document.createElement("p");
    section.dataset.ask = key;
    heading.append(title);
    if (small) heading.append(" ", Object.assign(document.createElement("span"), { textContent: `· ${small}` }));
    Object.assign(pre, { dir: "auto", translate: false, lang: "und" });
    figures.className = "figures";
    section.append(heading, pre, figures);
    const pane = { section, pre, figures, text: null };
    this.panes.set(key, pane);
    this.keepingBottom(() => this.host.append(section));
    return pane;
  }

  add(key, text) {
    this.waiting.set(key, (this.waiting.get(key) ?? "") + text);
    const wait = this.flushedAt + FLUSH_MS - performance.now();
    this.timer ||= setTimeout(() => requestAnimationFrame((now) => this.flush(now)), Math.max(0, wait));
  }

  flush(now) {
    this.timer = 0;
    this.flushedAt = now;
    this.keepingBottom(() => {
      for (const [key, text] of this.waiting) {
        const pane = this.open(key, key);
        if (!pane.text || pane.text.length > BLOCK_CHARS) {
          pane.text = document.createTextNode("");
          pane.pre.append(pane.text);
        }
        pane.text.appendData(text);
      }
    });
    this.waiting.clear();
  }

  figures(key, text) {
    this.keepingBottom(() => this.panes.get(key)?.figures.replaceChildren(text));
  }

  note(text) {
    const line = document.createElement("p");
    line.className = "note";
    line.textContent = text;
    this.keepingBottom(() => this.host.append(line));
  }

  isAtBottom() {
    return this.host.scrollHeight - this.host.scrollTop - this.host.clientHeight < NEAR_BOTTOM_PX;
  }

  keepingBottom(change) {
    const follow = this.isAtBottom();
    change();
    if (follow) this.scrollDown();
    else this.showToNewest(true);
  }

  scrollDown() {
    this.host.scrollTop = this.host.scrollHeight;
    this.showToNewest(false);
  }

  showToNewest(show) {
    if (this.toNewest) this.toNewest.hidden = !show;
  }
}
