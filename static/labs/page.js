// The entry of the step page and the attempt page.
import { wireForms } from "./forms.js";
import { wireReplay } from "./replay.js";
import { RunPanel } from "./run.js";
import { drawStored } from "./timeline.js";
import { wireWidgets } from "./widgets.js";

const narrow = matchMedia("(max-width: 52rem)");

// Each token pane opens where the common prefix ends.
function showPrefixEnds() {
  for (const mark of document.querySelectorAll(".toks mark")) {
    const pane = mark.closest(".toks");
    if (pane.clientHeight) pane.scrollTop = mark.offsetTop - pane.clientHeight / 2;
  }
}

// The drawing of plots is a large script, fetched where there is a plot.
async function drawPlots() {
  const host = document.querySelector("[data-plots]");
  if (host) (await import(host.dataset.plots)).drawPlots();
}

function dress() {
  drawPlots();
  showPrefixEnds();
  for (const box of document.querySelectorAll("details.diff")) box.addEventListener("toggle", showPrefixEnds);
  for (const host of document.querySelectorAll("[data-timeline]")) drawStored(host);
  wireWidgets();
  wireReplay();
  if (narrow.matches) for (const box of document.querySelectorAll("[data-close-narrow]")) box.open = false;
}

let width = innerWidth;
addEventListener("resize", () => {
  if (width === innerWidth) return;
  width = innerWidth;
  for (const host of document.querySelectorAll("[data-timeline]")) drawStored(host);
});

wireForms();
dress();
const panel = document.getElementById("run");
if (panel?.dataset.live === "yes") new RunPanel(panel, dress).start();
