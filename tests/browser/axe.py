"""axe-core on a page: what it calls a serious or critical hindrance, by rule and element."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from playwright.sync_api import Page

from tests.system.site import ROOT

SOURCE = ROOT / "frontend" / "node_modules" / "axe-core" / "axe.min.js"
WEIGHTY = {"serious", "critical"}
# Everything that can be opened is open: what is folded away, nobody would look at.
OPEN_ALL = "document.querySelectorAll('details').forEach((box) => { box.open = true; })"
# Where a colour is on its way to another one, it is judged by neither.
RUN = """
async (options) => {
  await new Promise((next) => requestAnimationFrame(() => setTimeout(next)));
  await Promise.all(document.getAnimations().map((moving) => moving.finished));
  return axe.run(document, options);
}
"""
Scheme = Literal["light", "dark"]
SCHEMES: tuple[Scheme, ...] = ("light", "dark")
EVERYTHING = {"resultTypes": ["violations"]}
COLOURS = {**EVERYTHING, "runOnly": {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}}


def hindrances(page: Page, *schemes: Scheme) -> list[str]:
    """Of the page as it is loaded, with all its boxes open, in light and in dark unless told otherwise."""
    first, *others = schemes or SCHEMES
    page.evaluate(OPEN_ALL)
    # The driver's own way in: the page's policy refuses a script of ours as it should.
    page.evaluate(SOURCE.read_text())
    found = list(_run(page, first, EVERYTHING))
    for other in others:
        found += _run(page, other, COLOURS)
    page.emulate_media(color_scheme="light")
    return found


def _run(page: Page, scheme: Scheme, options: dict[str, Any]) -> Iterator[str]:
    page.emulate_media(color_scheme=scheme)
    for rule in page.evaluate(RUN, options)["violations"]:
        if rule["impact"] in WEIGHTY:
            for node in rule["nodes"]:
                said = f"{rule['id']}: {node['target']}: {node['failureSummary']}"
                yield f"{page.url} {scheme} {said[:600]}"
