// What the page tells about the connection and about missing tokens.
import { alarm } from "./announce.js";
import { say } from "./text.js";

export class Notices {
  constructor(panel) {
    this.panel = panel;
    this.texts = {};
    this.heardAt = new Date();
  }

  put(name, text) {
    this.texts[name] = text;
    const line = document.getElementById("run-notice");
    const words = Object.values(this.texts).filter(Boolean).join("\n");
    if (line.textContent === words) return;
    line.textContent = words;
    line.hidden = !words;
  }

  gap() {
    this.panel.dataset.gap = "yes";
    this.put("gap", say("pane.gap"));
  }

  link(state, code) {
    document.getElementById("link").dataset.link = state;
    const word = document.getElementById("link-text");
    if (word.textContent !== say(`link.${state}`)) word.textContent = say(`link.${state}`);
    this.panel.toggleAttribute("data-link-stale", state === "reconnecting" || Boolean(code));
    const time = this.heardAt.toLocaleTimeString(document.documentElement.lang);
    if (state === "reconnecting") this.put("link", say("link.paused", { time }));
    else this.put("link", state === "polling" ? say("link.by_polling") : "");
    if (code) alarm(say(`link.${code}`));
  }
}
