// A live board: each push is the whole fragment, so nothing can be missed but the newest, which comes again.
const main = document.getElementById("main");
const light = document.getElementById("link");
const FINAL_CODES = new Set([4401, 4403, 4404]);
const SILENCE_MS = 25_000;
const LONGEST_WAIT_MS = 15_000;
const POLL_MS = 5_000;

let failures = 0;
let silence = 0;

async function drawPlots() {
  const host = document.querySelector("[data-plots]");
  if (host) (await import(host.dataset.plots)).drawPlots();
}

function show(html) {
  const fresh = new DOMParser().parseFromString(html, "text/html").querySelector("[data-swap='board']");
  const old = document.querySelector("[data-swap='board']");
  if (!fresh || !old || old.contains(document.activeElement)) return false;
  old.replaceWith(document.adoptNode(fresh));
  drawPlots();
  return true;
}

function tell(isLive) {
  if (!light) return;
  light.dataset.link = isLive ? "live" : "polling";
  document.getElementById("link-text").textContent = isLive ? main.dataset.live : main.dataset.away;
}

let held = "";
// Who reads a row with the keyboard is not interrupted; the newest state comes when they leave it.
addEventListener("focusout", () => setTimeout(() => held && show(held) && (held = ""), 0));

// On the wall: the page is drawn anew, without names, but not more than every few seconds.
const RELOAD_MS = 5_000;
let reloading = false;
function reload(version) {
  // Against what this page was drawn from: something may have changed before its socket came.
  if (reloading || version === Number(main.dataset.boardReload)) return;
  reloading = true;
  setTimeout(() => location.reload(), RELOAD_MS);
}

function take(html) {
  held = show(html) ? "" : html;
}

function open() {
  const url = new URL(main.dataset.boardSocket, location.href);
  url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
  const socket = new WebSocket(url);
  const listen = () => {
    clearTimeout(silence);
    silence = setTimeout(() => socket.close(), SILENCE_MS);
  };
  listen();
  socket.addEventListener("message", (message) => {
    listen();
    failures = 0;
    tell(true);
    const said = JSON.parse(message.data);
    if (said.kind !== "board") return;
    if ("boardReload" in main.dataset) reload(said.version);
    else take(said.html);
  });
  socket.addEventListener("close", (event) => {
    clearTimeout(silence);
    tell(false);
    if (FINAL_CODES.has(event.code)) return;
    failures += 1;
    if (failures > 1 && main.dataset.boardFragment) poll();
    setTimeout(open, Math.random() * Math.min(LONGEST_WAIT_MS, 500 * 2 ** failures));
  });
}

let polled = 0;
async function poll() {
  if (Date.now() - polled < POLL_MS) return;
  polled = Date.now();
  try {
    const response = await fetch(main.dataset.boardFragment, { redirect: "error" });
    if (response.ok) take(await response.text());
  } catch {
    // No network at all; the socket's next try will tell.
  }
}

drawPlots();
if (main.dataset.boardSocket) open();
