"""A student who understood everything: fills any round's form with its model answers, in the browser."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

from playwright.sync_api import Page, expect

from tests.browser.student import finished, press_run
from tests.system.site import ROOT, Site

# Sets one field as a person would leave it, whatever kind it is, and lets the page's scripts know.
FILL = """([name, values]) => {
  const fields = [...document.querySelectorAll(`form[data-once] [name="${CSS.escape(name)}"]`)];
  if (!fields.length) throw new Error(`no field ${name}`);
  for (const field of fields) {
    if (field.type === "radio" || field.type === "checkbox") field.checked = values.includes(field.value);
    else field.value = values[0];
    field.dispatchEvent(new Event("input", { bubbles: true }));
    field.dispatchEvent(new Event("change", { bubbles: true }));
  }
}"""


def environ_of(site: Site) -> dict[str, str]:
    """What a process needs to see the site's own database."""
    return {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "labhub_voice.settings",
        "LABHUB_DEMO": "1",
        "LABHUB_STATE_DIR": str(site.folder),
        "SECRET_KEY_FILE": str(site.folder / "secret_key"),
    }


class ModelAnswers:
    """Asks a process in the site's own environment what a round's model answers are."""

    def __init__(self, site: Site) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.system.model_answers"],
            cwd=ROOT,
            env=environ_of(site),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def of(self, username: str, step_key: str) -> dict[str, Any] | None:
        assert self._process.stdin and self._process.stdout
        print(username, step_key, file=self._process.stdin, flush=True)
        found: dict[str, Any] | None = json.loads(self._process.stdout.readline())
        return found

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin and self._process.stdout
        self._process.stdin.close()
        self._process.wait(20)
        self._process.stdout.close()


def by_fields(page: Page, post: Mapping[str, Any]) -> dict[str, Any]:
    """An order of blocks is one place for each block on the page."""
    found: dict[str, Any] = {}
    for name, value in post.items():
        if page.locator(f"[data-block-order='{name}']").count():
            found |= {f"{name}-{block}": place for place, block in enumerate(value.split(","), 1)}
        else:
            found[name] = value
    return found


def fill(page: Page, post: Mapping[str, Any]) -> None:
    """Fills the form on the page. Values are what a browser would post: a list where several are chosen."""
    for name, value in by_fields(page, post).items():
        values = value if isinstance(value, list) else [value]
        page.evaluate(FILL, [name, [str(one) for one in values]])


def do_step(page: Page, answers: ModelAnswers, username: str, step_key: str) -> int:
    """Does one step from the first round to the verdict. Returns how many rounds it had."""
    rounds = 0
    page.goto(f"/courses/demo/steps/{step_key}/")
    while rounds == 0 or not page.locator("#run[data-state=graded]").count():
        waiting = answers.of(username, step_key)
        assert waiting is not None, "no round waits, and no verdict is there"
        again = page.locator("#again:not([open]) > summary")
        if again.count():  # an earlier attempt stands there; a new one begins
            again.click()
        plain = page.locator("[data-plain]")
        if plain.count():
            expect(page.locator("sse-lab[data-state=ready]")).to_be_visible()
            plain.check()
        fill(page, waiting["post"])
        press_run(page)
        finished(page)
        page.goto(f"/courses/demo/steps/{step_key}/")
        rounds += 1
    return rounds
