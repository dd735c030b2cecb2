// The entry of the step page and the attempt page.
import { wireDue } from "./due.js";
import { wireForms } from "./forms.js";
import { wireReplay } from "./replay.js";
import { RunPanel } from "./run.js";
import { drawStored } from "./timeline.js";
import { wireWidgets } from "./widgets.js";

const narrow = matchMedia("(max-width: 52rem)");

// Each token pane opens where the common prefix ends; asked as it comes near, for all at once take long to lay out.
const nearing = new IntersectionObserver(
  (entries) => {
    for (const { target, isIntersecting } of entries) {
      if (!isIntersecting) continue;
      nearing.unobserve(target);
      const mark = [...target.querySelectorAll("mark")].at(-1);
      if (mark) target.scrollTop = mark.offsetTop - target.clientHeight / 2;
    }
  },
  { rootMargin: "200px" },
);

// The drawing of plots is a large script, fetched where there is a plot.
async function drawPlots() {
  const host = document.querySelector("[data-plots]");
  if (host) (await import(host.dataset.plots)).drawPlots();
}

function dress() {
  drawPlots();
  for (const pane of document.querySelectorAll(".toks")) nearing.observe(pane);
  for (const host of document.querySelectorAll("[data-timeline]")) drawStored(host);
  wireWidgets();
  wireReplay();
  wireDue();
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
