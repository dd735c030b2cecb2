// Due times: in the reader's own zone beside the course's, and a countdown by the server's clock.
import { announce } from "./announce.js";
import { say } from "./text.js";

const MINUTE = 60_000;
// A screen reader hears these only, once each: minutes before the due time.
const SPOKEN = [60, 10, 1];

let timer = 0;
let shown = null;
let skew = 0;
let before = Infinity;

// Shows each time also as the reader's clock has it, where that differs.
function addYours() {
  for (const place of document.querySelectorAll("[data-yours]")) {
    const time = place.previousElementSibling;
    const at = new Date(time.dateTime);
    const yours = written(at);
    if (yours === time.dateTime.slice(0, 16).replace("T", " ")) continue;
    place.textContent = say("due.yours", { time: yours });
    place.hidden = false;
  }
}

function written(at) {
  const two = (n) => String(n).padStart(2, "0");
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${two(at.getHours())}:${two(at.getMinutes())}`;
}

function left(ms) {
  const minutes = Math.floor(ms / MINUTE);
  if (minutes >= 2 * 24 * 60) return say("due.days", { days: Math.floor(minutes / 1440), hours: Math.floor((minutes % 1440) / 60) });
  if (minutes >= 60) return say("due.hours", { hours: Math.floor(minutes / 60), minutes: minutes % 60 });
  if (minutes >= 5) return say("due.minutes", { minutes });
  return say("due.seconds", { minutes, seconds: Math.floor((ms % MINUTE) / 1000) });
}

function tick() {
  const place = document.querySelector("[data-counts-to]");
  if (!place) return;
  if (place !== shown) {
    shown = place;
    // Only what the server says of the time counts: a reader's clock may be wrong.
    skew = Date.parse(place.dataset.now) - Date.now();
    before = Infinity;
  }
  const ms = Date.parse(place.dataset.countsTo) - (Date.now() + skew);
  const text = ms > 0 ? left(ms) : say("due.passed");
  if (place.textContent !== text) place.textContent = text;
  const spoken = SPOKEN.find((minutes) => ms <= minutes * MINUTE && before > minutes * MINUTE);
  if (before !== Infinity) {
    if (ms <= 0 && before > 0) announce(say("due.passed"));
    else if (spoken) announce(spoken === 1 ? say("due.last_minute") : say("due.spoken", { minutes: spoken }));
  }
  before = ms;
}

// Called again whenever parts of the page were replaced.
export function wireDue() {
  addYours();
  tick();
  timer ||= setInterval(tick, 1000);
}
