// One row a request, time from sending: until the first token, the tokens, the cut, the slot falling idle.
// Live events and stored recordings fill the same rows: {key, title, marks: {name: us}, ticks: [us], at, open}.
import { say } from "./text.js";

const SVG = "http://www.w3.org/2000/svg";
const ROW_PX = 36;
const BAR_PX = 12;
const AXIS_PX = 18;
const MOST_TICKS = 300;

export function drawStored(host) {
  const rows = JSON.parse(host.dataset.timeline);
  draw(host, rows.map((row) => ({ ticks: [], open: false, at: Math.max(0, ...Object.values(row.marks)), ...row })));
}

export function draw(host, rows) {
  if (!rows.length) return host.querySelectorAll("svg.lanes, .legend").forEach((old) => old.remove());
  const width = Math.max(host.clientWidth, 200);
  const longest = niceTop(Math.max(1000, ...rows.map((row) => row.at)));
  const x = (us) => Math.min(width, (us / longest) * (width - 8));
  const height = rows.length * ROW_PX + AXIS_PX;
  const svg = make("svg", { class: "lanes", viewBox: `0 0 ${width} ${height}`, height, role: "img" });
  svg.setAttribute("aria-label", say("time.alt"));
  for (const part of [0, 0.5, 1]) grid(svg, x(longest * part), height, longest * part, part);
  rows.forEach((row, index) => lane(svg, row, index * ROW_PX, x));
  // A live row is drawn ten times a second: what does not change stays.
  const old = host.querySelector("svg.lanes");
  if (old) old.replaceWith(svg);
  else host.append(svg, legend());
}

function lane(svg, row, top, x) {
  const bar = top + 17;
  const { headers, first, sentence, last, cut, idle, end } = row.marks;
  const until = first ?? end ?? cut ?? row.at;
  label(svg, 0, top + 12, row.title);
  rect(svg, "reading", 0, x(until), bar);
  if (first !== undefined) rect(svg, "writing", x(first), x(last ?? row.at), bar);
  if (row.open) rect(svg, "growing", 0, x(row.at), bar);
  const step = Math.ceil(row.ticks.length / MOST_TICKS) || 1;
  const shown = row.ticks.filter((_, index) => index % step === 0);
  // One path for all: an element a token would be a thousand of them, ten times a second.
  if (shown.length) svg.append(make("path", { class: "token", d: shown.map((us) => `M${x(us)} ${bar}v${BAR_PX}`).join("") }));
  if (headers !== undefined) line(svg, "headers", x(headers), bar, BAR_PX);
  if (first !== undefined) line(svg, "first", x(first), bar - 2, BAR_PX + 4);
  if (sentence !== undefined) line(svg, "sentence", x(sentence), bar - 3, BAR_PX + 6);
  if (cut !== undefined) line(svg, "cut", x(cut), bar - 3, BAR_PX + 6);
  if (idle !== undefined) svg.append(make("circle", { class: "idle", cx: x(idle), cy: bar + BAR_PX / 2, r: 4 }));
}

function grid(svg, at, height, us, part) {
  svg.append(make("line", { class: "grid", x1: at, x2: at, y1: 0, y2: height - AXIS_PX + 4 }));
  const anchor = part === 0 ? "start" : part === 1 ? "end" : "middle";
  const text = make("text", { class: "axis", x: at, y: height - 3, "text-anchor": anchor });
  text.textContent = part === 0 ? "0" : us < 10_000_000 ? `${Math.round(us / 1000).toLocaleString("en")} ms` : `${us / 1_000_000} s`;
  svg.append(text);
}

function legend() {
  const list = document.createElement("ul");
  list.className = "legend";
  const kinds = { reading: "time.reading", writing: "time.writing", headers: "time.headers", sentence: "time.sentence", cut: "time.cut", idle: "time.idle" };
  for (const [kind, name] of Object.entries(kinds)) {
    const item = document.createElement("li");
    const svg = make("svg", { viewBox: "0 0 14 12", "aria-hidden": "true" });
    if (kind === "idle") svg.append(make("circle", { class: kind, cx: 7, cy: 6, r: 4 }));
    else if (kind === "reading" || kind === "writing") rect(svg, kind, 0, 14, 0);
    else line(svg, kind, 7, 0, 12);
    item.append(svg, say(name));
    list.append(item);
  }
  return list;
}

function niceTop(us) {
  const power = 10 ** Math.floor(Math.log10(us));
  return [1, 1.5, 2, 3, 4, 5, 6, 8, 10].map((n) => n * power).find((top) => top >= us);
}

function label(svg, x, y, text) {
  const node = make("text", { x, y });
  node.textContent = text;
  svg.append(node);
}

function rect(svg, kind, from, to, y) {
  svg.append(make("rect", { class: kind, x: from, y, width: Math.max(0, to - from), height: BAR_PX }));
}

function line(svg, kind, at, y, height) {
  svg.append(make("line", { class: kind, x1: at, x2: at, y1: y, y2: y + height }));
}

function make(name, attributes) {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, String(value));
  return node;
}
