// Workers in a frame without an origin: what runs there finds neither this page nor anything that it stores. The frame
// may load nothing by itself, so all that it needs comes by message.
const LATE_MS = 30_000;

/** A house for Python (python.js). `address` is the frame's page, `worker` the sealed worker's script. */
export async function framed(host, address, worker) {
  const [frame, script] = await Promise.all([opened(host, address), asDataUrl(worker)]);
  return {
    // Another agent cluster takes no compiled module; the frame compiles it once.
    load: async (wasm) => (await fetch(wasm)).arrayBuffer(),
    worker: () => new FramedWorker(frame.contentWindow, script),
  };
}

function opened(host, address) {
  const frame = document.createElement("iframe");
  frame.setAttribute("sandbox", "allow-scripts");
  frame.hidden = true;
  frame.title = "sse.py";
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => reject(new Error("the frame did not answer")), LATE_MS);
    addEventListener("message", function hear({ source, data }) {
      if (source !== frame.contentWindow || data !== "open") return;
      removeEventListener("message", hear);
      clearTimeout(late);
      resolve(frame);
    });
    frame.src = address;
    host.append(frame);
  });
}

async function asDataUrl(url) {
  const bytes = await (await fetch(url)).arrayBuffer();
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result);
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(new Blob([bytes], { type: "text/javascript" }));
  });
}

/** As much of a Worker as python.js uses. */
class FramedWorker extends EventTarget {
  #port;

  constructor(frame, script) {
    super();
    const { port1, port2 } = new MessageChannel();
    this.#port = port1;
    port1.onmessage = ({ data }) =>
      this.dispatchEvent(
        data.error === undefined
          ? new MessageEvent("message", { data: data.said })
          : new ErrorEvent("error", { message: String(data.error), cancelable: true }),
      );
    frame.postMessage({ script }, "*", [port2]); // a frame without an origin has no name to send to
  }

  postMessage(message) {
    this.#port.postMessage({ message });
  }

  terminate() {
    this.#port.postMessage({ end: true });
  }
}
