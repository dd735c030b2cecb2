// What a screen reader hears: boundaries only, at most one sentence in five seconds, the newest wins.
const EVERY_MS = 5_000;
let lastAt = -Infinity;
let timer = 0;
let next = "";

export function announce(text) {
  next = text;
  if (timer) return;
  timer = setTimeout(() => {
    timer = 0;
    lastAt = performance.now();
    const region = document.getElementById("announce");
    if (region) region.textContent = next;
  }, Math.max(0, lastAt + EVERY_MS - performance.now()));
}

// For what needs the reader's hand: shown, and spoken at once.
export function alarm(text) {
  const region = document.getElementById("alert");
  if (!region || region.textContent === text) return;
  region.hidden = !text;
  region.textContent = text;
}
