// Follows one attempt: a websocket that resumes by the last id, and polling of the same events while it is away.
import { format, isAfter, missingBetween, parse } from "./ids.js";

const SILENCE_MS = 25_000;
const POLL_MS = 2_000;
const LONGEST_WAIT_MS = 15_000;
const FAILURES_BEFORE_POLLING = 2;
const FINAL_CODES = new Set([4401, 4403, 4404]);

export class Link {
  // onEvent(message) for each event once and in order; onLink(state, code) with
  // connecting | live | reconnecting | polling | off.
  constructor({ socketUrl, eventsUrl, after, onEvent, onLink }) {
    Object.assign(this, { socketUrl, eventsUrl, onEvent, onLink });
    this.last = parse(after) ?? { run: 0, seq: 0 };
    this.failures = 0;
    this.stopped = false;
    this.retry = () => this.retryNow();
  }

  start() {
    addEventListener("online", this.retry);
    document.addEventListener("visibilitychange", this.retry);
    this.open();
  }

  stop(code = 0) {
    if (this.stopped) return;
    this.stopped = true;
    removeEventListener("online", this.retry);
    document.removeEventListener("visibilitychange", this.retry);
    clearTimeout(this.reopenTimer);
    clearTimeout(this.silenceTimer);
    clearTimeout(this.pollTimer);
    this.socket?.close();
    this.onLink("off", code);
  }

  open() {
    clearTimeout(this.reopenTimer);
    const url = new URL(this.socketUrl, location.href);
    url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
    url.searchParams.set("after", format(this.last));
    if (!this.polling) this.onLink(this.failures ? "reconnecting" : "connecting");
    const socket = new WebSocket(url);
    this.socket = socket;
    this.listenForSilence();
    socket.addEventListener("message", (message) => {
      if (socket !== this.socket || this.stopped) return;
      this.listenForSilence();
      this.failures = 0;
      this.stopPolling();
      this.onLink("live");
      this.take(JSON.parse(message.data));
    });
    socket.addEventListener("close", (event) => {
      if (socket === this.socket) this.closed(event.code);
    });
  }

  // A dead network says nothing; the server pings more often than this.
  listenForSilence() {
    clearTimeout(this.silenceTimer);
    this.silenceTimer = setTimeout(() => {
      this.socket?.close();
      this.closed(0); // do not wait for a close handshake that may never be answered
    }, SILENCE_MS);
  }

  closed(code) {
    this.socket = null;
    clearTimeout(this.silenceTimer);
    if (this.stopped) return;
    if (FINAL_CODES.has(code)) return this.stop(code);
    this.failures += 1;
    if (this.failures >= FAILURES_BEFORE_POLLING) this.startPolling();
    else this.onLink("reconnecting");
    // Full jitter, so that a class does not come back as one.
    const wait = Math.random() * Math.min(LONGEST_WAIT_MS, 500 * 2 ** this.failures);
    this.reopenTimer = setTimeout(() => this.open(), wait);
  }

  retryNow() {
    if (this.stopped || this.socket || document.visibilityState === "hidden") return;
    this.open();
  }

  // It says "polling" once an answer came: without any network the page must not claim to be told.
  startPolling() {
    if (this.polling) return;
    this.polling = true;
    this.onLink("reconnecting");
    this.poll();
  }

  stopPolling() {
    this.polling = false;
    clearTimeout(this.pollTimer);
  }

  async poll() {
    try {
      const response = await fetch(`${this.eventsUrl}?after=${format(this.last)}`, {
        headers: { Accept: "application/json" },
        redirect: "manual",
      });
      if (!this.polling || this.stopped) return;
      if (response.type === "opaqueredirect" || response.status === 401) return this.stop(4401);
      if (response.status === 403) return this.stop(4403);
      if (response.status === 404) return this.stop(4404);
      if (response.ok) {
        const told = await response.json();
        if (!this.polling || this.stopped) return;
        this.onLink("polling");
        this.takePolled(told);
      } else this.onLink("reconnecting");
    } catch {
      if (this.polling && !this.stopped) this.onLink("reconnecting"); // no network at all
    }
    if (this.polling && !this.stopped) this.pollTimer = setTimeout(() => this.poll(), POLL_MS);
  }

  // What is missing comes as a `reset` among the events, in its place.
  takePolled({ events = [], state, after }) {
    for (const event of events) this.take(event);
    const reached = parse(after);
    if (reached && isAfter(reached, this.last)) this.last = reached;
    if (state) this.onEvent({ kind: "state", ...state });
  }

  take(event) {
    const id = parse(event.id);
    if (id) {
      if (!isAfter(id, this.last)) return;
      if (missingBetween(this.last, id)) {
        this.onEvent({ kind: "reset", from: format(this.last), to: format(id) });
      }
      this.last = id;
    }
    const skipped = event.kind === "reset" ? parse((event.data ?? event).to) : null;
    if (skipped && isAfter(skipped, this.last)) this.last = skipped;
    this.onEvent({ ...event, ...event.data, id });
  }
}
