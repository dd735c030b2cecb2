// What makes the form fields nicer; without it all of them work.
import { wireListen } from "./listen.js";
import { say } from "./text.js";

export function wireWidgets(root = document) {
  wireListen(root);
  for (const form of root.querySelectorAll("form[data-once]")) {
    const fields = [...form.querySelectorAll("[data-when], [when]")];
    if (!fields.length) continue;
    const show = () => fields.forEach((widget) => showWhen(form, widget));
    form.addEventListener("change", show);
    show();
  }
  for (const list of root.querySelectorAll("[data-block-order]")) wireOrder(list);
}

// A field that only matters for one answer (`data-when="place=front"`) stays away until that is chosen.
function showWhen(form, widget) {
  const [name, value] = (widget.dataset.when ?? widget.getAttribute("when")).split("=");
  const chosen = new FormData(form).get(name);
  (widget.closest(".field") ?? widget).hidden = chosen !== value;
}

function wireOrder(list) {
  const blocks = () => [...list.children];
  const place = (block) => Number(block.querySelector("select").value) || blocks().length;
  list.append(...blocks().sort((a, b) => place(a) - place(b)));
  const renumber = () => blocks().forEach((block, at) => (block.querySelector("select").value = String(at + 1)));
  for (const block of blocks()) {
    const moves = document.createElement("div");
    moves.className = "block-moves";
    moves.append(move(block, "up", -1, renumber), move(block, "down", 1, renumber));
    block.append(moves);
    block.querySelector("select").addEventListener("change", (event) => {
      const to = Number(event.target.value) - 1;
      block.remove();
      if (to < 0) list.append(block);
      else list.insertBefore(block, list.children[to] ?? null);
      renumber();
      event.target.focus();
    });
  }
  renumber();
}

function move(block, way, by, renumber) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "quiet";
  button.textContent = say(`order.${way}`);
  button.setAttribute("aria-label", `${say(`order.${way}`)}: ${block.querySelector(".block-title").textContent}`);
  button.addEventListener("click", () => {
    const other = by < 0 ? block.previousElementSibling : block.nextElementSibling;
    if (!other) return;
    if (by < 0) other.before(block);
    else other.after(block);
    renumber();
    button.focus();
  });
  return button;
}
