// Parts of a page that change by themselves: fetched again every few seconds while somebody looks.
const FINAL = new Set([401, 403, 404]);

function watch(host) {
  const everyMs = Number(host.dataset.every);
  let shown = "";
  let held = "";

  function show(html) {
    // Who reads there with the keyboard is not interrupted; the newest state comes when they leave it.
    held = host.contains(document.activeElement) ? html : "";
    if (held || html === shown) return;
    shown = html;
    const fresh = new DOMParser().parseFromString(html, "text/html").body;
    host.replaceChildren(...fresh.childNodes);
  }

  async function look() {
    let isOver = false;
    if (!document.hidden) {
      try {
        const answer = await fetch(host.dataset.poll, { redirect: "error" });
        if (answer.ok) show(await answer.text());
        isOver = FINAL.has(answer.status);
        host.dataset.stale = answer.ok ? "" : "yes";
      } catch {
        host.dataset.stale = "yes"; // a session that has ended redirects, and a net that is away does not answer
      }
    }
    if (!isOver) setTimeout(look, everyMs);
  }

  host.addEventListener("focusout", () => setTimeout(() => held && show(held), 0));
  setTimeout(look, everyMs);
}

document.querySelectorAll("[data-poll]").forEach(watch);
