// The still plots of an attempt (Observable Plot). Numbers and words come from the server; this only draws them.
import * as Plot from "@observablehq/plot";

const INK = "currentColor";
const SOFT = "var(--soft)";
const LABEL_PX = 150;
// So wide is a plot on a wall only, to be seen from the last row.
const WALL_PX = 980;
// Two lines of a title fit into it.
const ROW_PX = 38;
// The library takes a Hangul syllable for as wide as a Latin letter.
const HANGUL_WIDER = 1.65;
const KINDS = { cost, reuse, slots, spread };

/** Draws every figure of the page that is not drawn yet, and again when its width changes. */
export function drawPlots(root = document) {
  for (const host of root.querySelectorAll("[data-plot]:not([data-drawn])")) {
    host.dataset.drawn = "0";
    new ResizeObserver(() => draw(host)).observe(host);
  }
}

function draw(host) {
  const width = Math.floor(host.clientWidth);
  if (!width || String(width) === host.dataset.drawn) return;
  host.dataset.drawn = String(width);
  const { data, label, axes } = JSON.parse(host.querySelector("script[type='application/json']").textContent);
  host.querySelector("svg")?.remove();
  host.append(tidy(KINDS[host.dataset.plot](data, axes, width), label));
}

/** Plot writes a style element, which our policy refuses (figures.css has its rules), and labels that no reader may have. */
function tidy(svg, label) {
  svg.querySelector("style")?.remove();
  for (const node of svg.querySelectorAll("*")) {
    for (const { name } of [...node.attributes]) if (name.startsWith("aria-") || name === "role") node.removeAttribute(name);
  }
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", label);
  return svg;
}

function cost({ points, minima, medians, line, said, client }, axes, width) {
  return Plot.plot({
    width,
    height: Math.min(360, Math.max(260, width * 0.55)),
    marginLeft: 52,
    marginBottom: 46,
    x: { label: axes.x, labelOffset: 42, zero: true, nice: true },
    y: { label: axes.y, zero: true, nice: true, grid: true },
    marks: [
      Plot.line(line, { x: "n", y: "ms", stroke: SOFT, strokeDasharray: "5 4" }),
      Plot.dot(client, { x: "n", y: "ms", symbol: "square", stroke: SOFT, r: 4 }),
      Plot.dot(points, { x: "n", y: "ms", r: 3.5, stroke: "var(--ph-sentence)", strokeOpacity: 0.75 }),
      Plot.dot(medians, { x: "n", y: "ms", symbol: "plus", r: 6, stroke: INK, strokeWidth: 1.5 }),
      Plot.dot(minima, { x: "n", y: "ms", symbol: "diamond2", r: 5, fill: "var(--ph-sentence)" }),
      Plot.dot(said, { x: "n", y: "ms", symbol: "times", r: 6, stroke: "var(--ph-first)", strokeWidth: 2.5 }),
      Plot.tip(points, Plot.pointer({ x: "n", y: "ms" })),
    ],
  });
}

function reuse({ bars }, axes, width) {
  const longest = Math.max(...bars.map((bar) => bar.ms), 1);
  const names = Math.round(Math.min(190, width * 0.34));
  const wider = bars.some((bar) => /[\uac00-\ud7a3]/.test(bar.title)) ? HANGUL_WIDER : 1;
  // The rest of the width is for the words behind the longest bar.
  const share = Math.max(0.25, 1 - LABEL_PX / (width - names));
  return Plot.plot({
    width,
    height: ROW_PX * bars.length + 56,
    marginLeft: names,
    marginRight: 12,
    marginBottom: 46,
    x: { label: axes.x, labelOffset: 42, domain: [0, longest / share], grid: true, ticks: width < 480 ? 2 : 4 },
    y: { axis: null, domain: bars.map((bar) => bar.key) },
    marks: [
      Plot.axisY({
        label: null,
        tickSize: 0,
        tickFormat: (key) => bars.find((bar) => bar.key === key).title,
        lineWidth: names / 14 / wider, // a longer title goes on in the next line
      }),
      Plot.barX(bars, { x: "ms", y: "key", fill: (bar) => (bar.warm ? "var(--ph-rest)" : "var(--ph-prefill)"), rx: 2 }),
      Plot.text(bars, { x: "ms", y: "key", text: "label", textAnchor: "start", dx: 6, fill: INK }),
      Plot.ruleX([0]),
    ],
  });
}

function slots({ lanes, looks, slots: names }, axes, width) {
  return Plot.plot({
    width,
    height: 56 * names.length + 60,
    marginBottom: 46,
    marginLeft: 62,
    marginRight: 16,
    x: { label: axes.x, labelOffset: 42, zero: true, nice: true, grid: true },
    y: { label: null, domain: names, tickSize: 0, padding: 0.35 },
    marks: [
      Plot.barX(lanes, { x1: "from", x2: "to", y: "slot", fill: "var(--ph-rest)", insetLeft: 0.5, insetRight: 0.5, rx: 2 }),
      Plot.text(lanes, { x: "from", y: "slot", text: "number", textAnchor: "start", dx: 4, fill: INK, fontWeight: 600 }),
      Plot.tickX(lanes.filter((lane) => lane.closed !== null), { x: "closed", y: "slot", stroke: "var(--ph-first)", strokeWidth: 3 }),
      Plot.dot(looks, { x: "at", y: "slot", dy: 22, r: 2.5, stroke: INK, fill: (look) => (look.busy ? INK : "var(--surface)") }),
    ],
  });
}

/** The class: a dot a student in each lane, and the median of the cold ones with its interval. */
function spread({ dots, names, median, low, high }, axes, width) {
  return Plot.plot({
    width,
    height: width > WALL_PX ? 300 : 170,
    marginLeft: 64,
    marginBottom: 46,
    x: { label: axes.x, labelOffset: 42, zero: true, nice: true, grid: true },
    y: { label: null, domain: ["cold", "warm"], tickFormat: (kind) => names[kind] },
    marks: [
      low === null || high === null ? null : Plot.rectX([{ low, high }], { x1: "low", x2: "high", fill: "var(--ph-sentence)", fillOpacity: 0.15 }),
      Plot.ruleX([median], { stroke: INK, strokeWidth: 1.5 }),
      Plot.dot(dots, { x: "ms", y: "kind", r: width > WALL_PX ? 7 : 4, stroke: "var(--ph-sentence)", strokeOpacity: 0.75 }),
    ],
  });
}
