// Speaks a first sentence by the browser's own voice: a stored one by its button, a live one the moment it is complete.
const voice = window.speechSynthesis;
const HANGUL = /[\u1100-\u11ff\u3131-\u318e\uac00-\ud7a3]/;

export function wireListen(root = document) {
  if (!voice) return;
  const live = root.querySelector("[data-listen-live]");
  if (live) live.hidden = false;
  for (const button of root.querySelectorAll("[data-listen]")) {
    button.hidden = false;
    button.addEventListener("click", () => speak(button.dataset.listen));
  }
}

// Where the student ticked it; a second sentence waits for the first.
export function speakLive(text) {
  if (voice && document.querySelector("[data-listen-live] input")?.checked) voice.speak(saying(text));
}

function speak(text) {
  voice.cancel();
  voice.speak(saying(text));
}

function saying(text) {
  const words = new SpeechSynthesisUtterance(text);
  words.lang = HANGUL.test(text) ? "ko-KR" : "en-US";
  return words;
}
