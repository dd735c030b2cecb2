// One press sends once. The pressed button keeps the focus: aria-disabled, never disabled.
import { say } from "./text.js";

const sent = new WeakSet();

export function wireForms() {
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (!form.matches("form[data-once]")) return;
    if (sent.has(form)) return event.preventDefault();
    sent.add(form);
    for (const button of form.querySelectorAll("[data-busy]")) {
      button.setAttribute("aria-disabled", "true");
      button.title = say("form.busy");
    }
  });
  // Back from the browser's cache: the page is as it was sent, and may be sent again (the server knows the key).
  addEventListener("pageshow", (event) => {
    if (!event.persisted) return;
    for (const form of document.querySelectorAll("form[data-once]")) release(form);
  });
  document.querySelector("[data-focus-first]")?.focus();
}

function release(form) {
  sent.delete(form);
  for (const button of form.querySelectorAll("[data-busy]")) button.removeAttribute("aria-disabled");
}
