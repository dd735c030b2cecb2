"""Takes pictures of a site's pages: small files, drawn to the end, in the four looks that are kept."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Literal, cast

from PIL import Image
from playwright.sync_api import Browser, Page, expect

from tests.system.site import ROOT, Site

HEIGHT = 900
COLOURS = 128
# Every colour that the style names, in light and in dark.
NAMED = [
    (int(found[1:3], 16), int(found[3:5], 16), int(found[5:7], 16))
    for found in dict.fromkeys(
        re.findall(r"#[0-9a-f]{6}", (ROOT / "static" / "labs" / "tokens.css").read_text(encoding="utf-8"))
    )
]
DRAWN = """
async () => {
  for (let i = 0; i < 3; i += 1) await new Promise((next) => requestAnimationFrame(() => setTimeout(next)));
}
"""


@dataclass(frozen=True, slots=True)
class Look:
    language: Literal["en", "ko"]
    scheme: Literal["light", "dark"]
    width: int

    @property
    def name(self) -> str:
        return f"{self.language}-{self.scheme}-{self.width}"


LOOKS = [
    Look("en", "light", 1440),
    Look("ko", "dark", 1440),
    Look("ko", "light", 390),
    Look("en", "dark", 390),
]


@dataclass
class Camera:
    """What the browser itself writes, in fields for dates and files, stays English."""

    browser: Browser
    site: Site
    out: Path

    def open(self, look: Look) -> Page:
        context = self.browser.new_context(
            base_url=self.site.url,
            viewport={"width": look.width, "height": HEIGHT},
            color_scheme=look.scheme,
        )
        cookie = {"name": "django_language", "value": look.language, "url": self.site.url}
        context.add_cookies([cookie])  # type: ignore[list-item]
        page = context.new_page()
        page.goto("/login/")
        return page

    def log_in(self, look: Look, who: str) -> Page:
        page = self.open(look)
        page.locator("[name=username]").fill(who)
        page.locator("[name=password]").fill(self.site.password(who))
        page.locator("form[method=post] button").last.click()
        page.wait_for_url("**/")
        return page

    def take(self, look: Look, who: str, pages: Iterable[tuple[str, str]]) -> None:
        """`pages` are (name, address); where the name ends with -open, with all its boxes open."""
        page = self.log_in(look, who)
        for name, path in pages:
            page.goto(path)
            page.wait_for_load_state("networkidle")
            if name.endswith("-open"):
                page.evaluate("document.querySelectorAll('details').forEach((box) => { box.open = true; })")
                page.wait_for_load_state("networkidle")
            self.picture(page, name, look)
        page.context.close()

    def picture(self, page: Page, name: str, look: Look) -> None:
        """With a window as high as the page: what is drawn as it comes into view is in the picture too."""
        expect(page.locator("sse-lab:not([data-state=ready])")).to_have_count(0)
        for _ in range(2):  # what is drawn may make it higher
            height: int = page.evaluate("document.documentElement.scrollHeight")
            page.set_viewport_size({"width": look.width, "height": max(HEIGHT, height)})
            page.evaluate(DRAWN)
        taken = Image.open(BytesIO(page.screenshot())).convert("RGB")
        page.set_viewport_size({"width": look.width, "height": HEIGHT})
        few_colours(taken).convert("RGB").save(self.out / f"{name}.{look.name}.webp", lossless=True, method=4)


def few_colours(full: Image.Image) -> Image.Image:
    """With the commonest colours and those that the style names as its palette: small, and a mark drawn in a few
    pixels keeps its hue."""
    counted = full.getcolors(full.width * full.height) or []
    common = [cast("tuple[int, int, int]", colour) for _count, colour in sorted(counted, reverse=True)]
    palette = Image.new("P", (1, 1))
    chosen = list(dict.fromkeys([*common[: COLOURS // 2], *NAMED, *common]))[:COLOURS]
    palette.putpalette([part for colour in chosen for part in colour])
    return full.quantize(palette=palette, dither=Image.Dither.NONE)
