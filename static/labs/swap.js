// Fetches our own rendered fragment and puts its parts in place of the page's. Model output in it is escaped text.
export async function swapFrom(url) {
  const response = await fetch(url, { redirect: "error", headers: { Accept: "text/html" } });
  if (!response.ok) throw new Error(`panel: ${response.status}`);
  const parts = new DOMParser().parseFromString(await response.text(), "text/html");
  for (const part of parts.querySelectorAll("[data-swap]")) {
    const old = document.querySelector(`[data-swap="${part.dataset.swap}"]`);
    if (!old) continue;
    const hadFocus = old.contains(document.activeElement);
    const fresh = document.adoptNode(part);
    old.replaceWith(fresh);
    if (hadFocus) (document.querySelector("[data-focus]") ?? document.getElementById("main")).focus();
  }
}
