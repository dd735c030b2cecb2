// Inside the frame without an origin: starts a worker for every port that the page sends, and passes messages on.
let compiled; // once for all workers

addEventListener("message", ({ source, data, ports: [port] }) => {
  if (source !== parent || !port) return;
  const worker = new Worker(data.script, { type: "module", name: "sse.py" });
  worker.onmessage = ({ data: said }) => port.postMessage({ said });
  worker.onerror = (event) => {
    event.preventDefault();
    port.postMessage({ error: event.message ?? "" });
  };
  port.onmessage = async ({ data: { message, end } }) => {
    if (end) return worker.terminate();
    if (!message.module) return worker.postMessage(message);
    compiled ??= WebAssembly.compile(message.module);
    worker.postMessage({ ...message, module: await compiled });
  };
});
parent.postMessage("open", "*");
