// Results and streams on the page. All of it is text of a student's code or of a stream: text nodes only.
import { make } from "./text.js";

const COLUMNS = ["ttft_ms", "first_token", "pieces", "text", "prompt_n", "prompt_ms", "predicted_n", "done", "error"];
const MOST_SHOWN = 200;

/** Fills `host`; gives {line, message} where the code stopped, or null. */
export function showOutcome(host, result, streams, say) {
  const answers = Object.entries(result.answers).flatMap(([name, given]) =>
    Object.keys(streams[name]).map((stream) => ({ name, stream, answer: given[stream] })),
  );
  const stopped = result.problem ?? answers.map(({ answer }) => answer).find((answer) => answer?.error);
  const parts = [];
  if (stopped) parts.push(...problemParts(stopped, result.problem !== null, say));
  if (answers.length) parts.push(table(answers, say));
  if (result.output) {
    const title = say(result.output.length >= 64_000 ? "printed_cut" : "printed");
    parts.push(make("details", { open: "" }, make("summary", {}, title), make("pre", { tabindex: "0" }, result.output)));
  }
  host.replaceChildren(...parts);
  host.hidden = parts.length === 0;
  return stopped?.line ? { line: stopped.line, message: sentence(stopped, say) } : null;
}

function problemParts(stopped, isWhole, say) {
  const said = make("p", { class: "sse-problem" }, `${isWhole ? `${say("problem")}: ` : ""}${sentence(stopped, say)}`);
  if (!stopped.trace) return [said];
  return [said, make("details", { open: "" }, make("summary", {}, say("trace")), make("pre", { tabindex: "0" }, stopped.trace))];
}

function sentence({ error, line }, say) {
  const where = line ? "" : "_somewhere";
  return error === "OutOfTime" ? say(`endless${where}`, { line }) : say(`stopped${where}`, { line, error });
}

function table(answers, say) {
  const head = make("tr", {}, ...["stream", ...COLUMNS].map((name) => make("th", { scope: "col" }, name === "stream" ? say(name) : name)));
  const rows = answers.map(({ name, stream, answer }) => {
    const title = make("th", { scope: "row" }, `${name} · ${stream}`);
    if (!answer?.value) {
      const text = answer ? sentence(answer, say) : say("not_run");
      return make("tr", {}, title, make("td", { colspan: COLUMNS.length, class: "sse-wrong" }, text));
    }
    return make("tr", {}, title, ...COLUMNS.map((key) => make("td", { class: key === "text" ? "sse-text" : "num" }, cell(answer.value[key], say))));
  });
  const whole = make("table", {}, make("caption", {}, say("results")), make("thead", {}, head), make("tbody", {}, ...rows));
  return make("div", { class: "sse-table", tabindex: "0", role: "region", "aria-label": say("results") }, whole);
}

function cell(value, say) {
  if (value === undefined) return "–";
  if (value === null) return say("none");
  if (typeof value === "boolean") return say(value ? "yes" : "no");
  if (Array.isArray(value)) return String(value.length);
  const text = typeof value === "object" ? JSON.stringify(value) : String(value);
  return text.length > MOST_SHOWN ? `${text.slice(0, MOST_SHOWN)}…` : text;
}

export function showStreams(host, streams, say) {
  const parts = Object.entries(streams).flatMap(([name, given]) =>
    Object.entries(given).map(([stream, rows]) => {
      const list = make("ol", { class: "sse-rows", tabindex: "0", "aria-label": `${name} · ${stream}` });
      rows.forEach(([atMs, text], i) => {
        const shown = name === "parse" ? text : bytes(text);
        list.append(make("li", {}, make("span", { class: "num" }, i + 1), make("span", { class: "num" }, atMs.toFixed(1)), make("span", {}, shown || " ")));
      });
      return make("details", {}, make("summary", {}, `${name} · ${stream} (${rows.length})`), list);
    }),
  );
  host.replaceChildren(...parts);
}

/** Bytes as Python prints them, but with whole characters readable: b'data: {"content":"한\xea\xb8' */
function bytes(base64) {
  const data = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  let shown = "";
  for (let i = 0; i < data.length; ) {
    const size = data[i] < 0x80 ? 1 : data[i] >= 0xf0 ? 4 : data[i] >= 0xe0 ? 3 : data[i] >= 0xc0 ? 2 : 0;
    const tail = data.slice(i + 1, i + size);
    const isWhole = size > 0 && tail.length === size - 1 && tail.every((byte) => (byte & 0xc0) === 0x80);
    shown += isWhole ? readable(new TextDecoder().decode(data.slice(i, i + size))) : `\\x${data[i].toString(16)}`;
    i += isWhole ? size : 1;
  }
  return `b'${shown}'`;
}

function readable(character) {
  return { "\n": "\\n", "\r": "\\r", "\\": "\\\\", "'": "\\'" }[character] ?? character;
}
