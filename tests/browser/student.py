"""What a student does in the browser: the model answers, read off the page as a person would."""

from __future__ import annotations

import json
import re

from playwright.sync_api import Locator, Page, expect

# Keeps what the live panel showed, ask by ask, because the panel is replaced at the end.
WATCH_LIVE = """
window.liveText = {};
addEventListener("DOMContentLoaded", () => new MutationObserver(() => {
  if (document.querySelector("#run")?.dataset.live !== "yes") return;
  for (const pane of document.querySelectorAll("#tokens [data-ask]"))
    window.liveText[pane.dataset.ask] = pane.querySelector("pre").textContent;
}).observe(document.documentElement, { subtree: true, childList: true, characterData: true }));
"""


def live_text(page: Page) -> dict[str, str]:
    found: dict[str, str] = page.evaluate("window.liveText")
    return found


def shown_text(page: Page) -> dict[str, str]:
    """The answers as the finished panel shows them, from the database."""
    found: dict[str, str] = page.locator("#tokens [data-ask]").evaluate_all(
        "panes => Object.fromEntries(panes.map(p => [p.dataset.ask, p.querySelector('pre').textContent]))"
    )
    return found


def press_run(page: Page) -> None:
    page.locator("form[data-once] [data-busy]").last.click()
    page.wait_for_url("**/#run")


def finished(page: Page) -> Locator:
    """The run panel once its run is over and the page has fetched the outcome."""
    panel = page.locator("#run[data-live=no]")
    expect(panel).to_be_visible()
    return panel


def run_predict(page: Page) -> None:
    page.goto("/courses/demo/steps/first-token/")
    page.locator("[name=first_frame_ms]").fill("5")
    page.locator("[name=first_token_ms]").fill("700")
    press_run(page)


def run_mark(page: Page) -> None:
    """Picks the first frame with text, and subtracts the first role frame's time."""
    frames: list[tuple[float, str]] = [
        (
            float(row.locator(".frame-at").inner_text().split()[0]),
            row.locator(".frame-text").text_content() or "",
        )
        for row in page.locator("[data-frame-pick] label").all()
        if row.locator(".frame-at").count()
    ]
    role_ms = next(at for at, text in frames if '"role"' in text)
    index, token_ms = next(
        (i, at) for i, (at, text) in enumerate(frames) if re.search(r'"content":"[^"]', text)
    )
    page.locator(f"[name=frame][value='{index}']").check()
    page.locator("[name=too_short_ms]").fill(f"{token_ms - role_ms:.1f}")
    press_run(page)


def submit_split(page: Page) -> None:
    """The split of the TTFT, computed from the table and the timings that the form shows."""
    cells = page.locator(".exhibit-table tbody tr").evaluate_all(
        "rows => rows.map(r => Number(r.cells[1].textContent))"
    )
    sent_ms, headers_ms, _role_ms, token_ms, _end_ms = cells
    prefill_ms = json.loads(page.locator(".exhibit-code code").last.inner_text())["prompt_ms"]
    wait_ms = headers_ms - sent_ms
    page.locator("[name=wait_ms]").fill(f"{wait_ms:.1f}")
    page.locator("[name=prefill_ms]").fill(f"{prefill_ms:.1f}")
    page.locator("[name=rest_ms]").fill(f"{token_ms - sent_ms - wait_ms - prefill_ms:.1f}")
    page.locator("[name=unknown][value=wait]").check()
    press_run(page)
