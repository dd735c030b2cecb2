// The page's sentences, translated by the server; %(name)s places are filled here.
const sentences = JSON.parse(document.getElementById("strings")?.textContent ?? "{}");

export function say(name, values = {}) {
  const sentence = sentences[name] ?? name;
  return sentence.replace(/%\((\w+)\)s/g, (_, key) => String(values[key] ?? "–"));
}

export const has = (name) => name in sentences;

// One decimal below 100 ms, none above: the same rule as the server's filter.
export function ms(us) {
  if (us === null || us === undefined) return "–";
  const value = us / 1000;
  const digits = Math.abs(value) < 100 ? 1 : 0;
  return `${value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits })}\u00a0ms`;
}
