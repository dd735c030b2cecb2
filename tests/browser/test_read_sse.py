"""Writing `sse.py` in a real Chromium: right and wrong versions, what hangs, what tries to get out, the whole step."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Mapping
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, Page, Route, expect

from labs.steps.sse_kit.source import source
from tests.browser.conftest import LogIn
from tests.browser.sse_probes import probes
from tests.browser.student import finished, press_run
from tests.steps.sse_sources import FAULTS, core, feed
from tests.steps.test_read_sse import failed, grade
from tests.system.site import Site

pytestmark = pytest.mark.browser

STEP = "/courses/demo/steps/read-sse/"
SEALED = "default-src 'none'; script-src 'wasm-unsafe-eval'"


@pytest.fixture(scope="module")
def lab(browser: Browser, site: Site) -> Iterator[Page]:
    """The step's page of one student, for all tests that need no page of their own: starting Python takes seconds."""
    page = browser.new_context(base_url=site.url).new_page()
    troubles: list[str] = []
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.on("console", lambda said: troubles.append(said.text) if said.type == "error" else None)
    page.goto("/login/")
    page.locator("[name=username]").fill("lee")
    page.locator("[name=password]").fill(site.password("lee"))
    page.locator("form[method=post] [type=submit], form[method=post] button").last.click()
    page.wait_for_url("**/")
    open_step(page)
    yield page
    page.context.close()
    assert troubles == []


def open_step(page: Page, state: str = "ready") -> None:
    page.context.add_cookies([{"name": "django_language", "value": "en", "url": page.url}])
    page.goto(STEP)
    expect(page.locator(f"sse-lab[data-state={state}]")).to_be_visible(timeout=60_000)


def write(page: Page, text: str) -> None:
    page.locator("[data-plain]").check()
    page.locator("textarea[name=source]").fill(text)


def run(page: Page, text: str) -> dict[str, Any]:
    """What the code gave back on this page's streams, as it would be posted."""
    write(page, text)
    page.locator("textarea[name=results]").fill("")
    page.locator("sse-lab [data-run]").click()
    expect(page.locator("textarea[name=results]")).not_to_have_value("", timeout=15_000)
    expect(page.locator("sse-lab[data-state=ready]")).to_be_visible(timeout=30_000)
    found: dict[str, Any] = json.loads(page.locator("textarea[name=results]").input_value())
    return found


def streams(page: Page) -> dict[str, Any]:
    drawn: dict[str, Any] = json.loads(page.locator("#sse-streams-data").text_content() or "")
    return {**drawn, "question": ""}


def test_right_and_wrong_versions(lab: Page) -> None:
    drawn = streams(lab)
    for name, (text, expected) in FAULTS.items():
        assert failed(grade(text, json.dumps(run(lab, text)), drawn)) == expected, name
    for text in (core(), feed(), source("solution")):
        assert failed(grade(text, json.dumps(run(lab, text)), drawn)) == set()


def test_a_right_version_takes_no_longer_than_python_to_start(lab: Page) -> None:
    begun_s = time.monotonic()
    open_step(lab)
    started_ms = (time.monotonic() - begun_s) * 1000
    write(lab, source("solution"))
    took_ms = lab.evaluate(
        """() => new Promise((resolve) => {
          const begun = performance.now(), outcome = document.querySelector("[data-outcome]");
          new MutationObserver(() => resolve(performance.now() - begun)).observe(outcome, { childList: true });
          document.querySelector("[data-run]").click();
        })"""
    )
    assert took_ms < started_ms


def line_of(text: str, needle: str) -> int:
    return next(i for i, line in enumerate(text.splitlines(), 1) if needle in line)


HEAD = "def parse(lines, now):\n    n = 0\n"
LOOPS: Mapping[str, str] = {
    "plain": HEAD + "    while True:\n        n += 1  # here\n",
    "swallows everything": HEAD
    + "    while True:\n        try:\n            n += 1  # here\n        except BaseException:\n            pass\n",
    "in a helper": "def spin():\n    n = 0\n    while True:\n        n += 1  # here\n\n\n"
    + HEAD
    + "    spin()\n",
}


@pytest.mark.parametrize("name", LOOPS)
def test_an_endless_loop_is_stopped_with_its_line(lab: Page, name: str) -> None:
    text = LOOPS[name]
    answers = run(lab, text)
    stopped = answers["parse"]["plain"]
    assert stopped["error"] == "OutOfTime"
    assert abs(stopped["line"] - line_of(text, "# here")) <= 2
    said = lab.locator(".sse-problem").inner_text()
    assert f"line {stopped['line']}" in said and "loop" in said
    lab.locator("[data-plain]").uncheck()
    expect(lab.locator(".cm-lint-marker-error")).to_be_visible()
    assert failed(grade(core(), json.dumps(run(lab, core())), streams(lab))) == set()


def test_code_that_never_comes_back_is_ended_and_python_starts_anew(lab: Page) -> None:
    hangs = 'import re\n\ndef parse(lines, now):\n    re.match(r"(a+)+$", "a" * 64 + "b")\n'
    assert run(lab, hangs) == {"parse": {}}
    expect(lab.locator("[data-state][role=status]")).to_contain_text("did not come back")
    assert failed(grade(core(), json.dumps(run(lab, core())), streams(lab))) == set()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("def parse(lines, now):\n    return (\n", "line 2"),
        ("def parse(lines, now):\n    return 1 / 0\n", "line 2: ZeroDivisionError"),
        (
            "import json\n\ndef parse(lines, now):\n    json.loads('{')\n",
            "line 4: JSONDecodeError",
        ),
        ("import nothing_like_it\n\ndef parse(lines, now): ...\n", "line 1: ModuleNotFoundError"),
        ("def parse(lines, now):\n    raise SystemExit\n", "line 2: SystemExit"),
        ("def parse(lines, now):\n    return parse(lines, now)\n", "RecursionError"),
        ("def parse(lines, now):\n    return [bytearray(3 << 30)]\n", "line 2: OverflowError"),
        ("def parse(lines, now):\n    return lines\n", "not a dict"),
        ("def parse(lines, now):\n    return {'pieces': {1, 2}}\n", "not JSON serializable"),
        ("async def parse(lines, now):\n    return {}\n", "coroutine, not a dict"),
        ("def parse(lines, now):\n    return {'x': 'y' * 10**6}\n", "far too much"),
        ("def parse(lines, now):\n    input()\n", "line 2: EOFError"),
    ],
)
def test_mistakes_are_told_with_their_line(lab: Page, text: str, said: str) -> None:
    run(lab, text)
    expect(lab.locator(".sse-problem")).to_contain_text(said)
    assert failed(grade(core(), json.dumps(run(lab, core())), streams(lab))) == set()


def test_what_is_printed_is_shown_as_text_and_cut(lab: Page) -> None:
    run(
        lab,
        "print('<img src=x>')\n\ndef parse(lines, now):\n    print('x' * 10**7)\n    return {'text': '<b>'}\n",
    )
    printed = lab.locator("[data-outcome] details pre").last
    expect(printed).to_contain_text("<img src=x>")
    assert len(printed.text_content() or "") <= 64_000
    expect(lab.locator("[data-outcome] td.sse-text").first).to_have_text("<b>")
    assert lab.locator("[data-outcome] img, [data-outcome] b").count() == 0


def test_nothing_gets_out(lab: Page, site: Site) -> None:
    answers = run(lab, probes(f"{site.url}/probe-out/"))
    tried = dict(answers["parse"]["plain"]["value"]["pieces"])
    assert len(tried) > 20
    # A package is promised and never comes: its download is one of the things that are refused.
    got = {name for name, result in tried.items() if result.startswith("got")}
    assert got <= {"loadPackage"}
    log = (site.folder / "log" / "web.log").read_text()
    assert STEP in log
    assert "probe-out" not in log


OPEN_HEADERS = {
    "stripped": None,
    "a page's": "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self'",
    "scripts only": "script-src 'self' 'wasm-unsafe-eval'",
}


@pytest.mark.parametrize("name", OPEN_HEADERS)
def test_without_its_header_the_worker_refuses_to_start(log_in: LogIn, name: str) -> None:
    page = log_in("lee")

    def answer(route: Route) -> None:
        response = route.fetch()
        headers = {key: value for key, value in response.headers.items() if key != "content-security-policy"}
        if (policy := OPEN_HEADERS[name]) is not None:
            headers["content-security-policy"] = policy
        route.fulfill(response=response, headers=headers)

    page.route("**/sandbox.*.mjs", answer)
    open_step(page, "unavailable")
    expect(page.locator("[data-state][role=status]")).to_contain_text("not sealed off")
    expect(page.locator("[data-terminal]")).to_have_attribute("open", "")
    expect(page.locator("sse-lab [data-run]")).to_have_attribute("aria-disabled", "true")


def test_where_python_does_not_start_answers_from_a_terminal_are_taken(log_in: LogIn, tmp_path: Any) -> None:
    page = log_in("lee")
    page.route("**/python.*.wasm", lambda route: route.abort())
    open_step(page, "unavailable")
    with page.expect_download() as got:
        page.get_by_role("link", name="streams.json").click()
    (tmp_path / "streams.json").write_bytes(got.value.path().read_bytes())
    namespace: dict[str, Any] = {"__name__": "sse"}
    exec(compile(core() + source("terminal"), "sse.py", "exec"), namespace)
    (tmp_path / "answers.json").write_text(json.dumps(namespace["recorded"](tmp_path / "streams.json")))
    (tmp_path / "sse.py").write_text(core())
    page.locator("input[data-open=source]").set_input_files(tmp_path / "sse.py")
    page.locator("input[data-open=results]").set_input_files(tmp_path / "answers.json")
    results = page.locator("textarea[name=results]")
    expect(results).not_to_have_value("")
    page.locator("[data-plain]").check()
    expect(page.locator("textarea[name=source]")).to_have_value(core())
    assert failed(grade(core(), results.input_value(), streams(page))) == set()


def test_the_worker_is_sealed_by_its_hashed_address_and_nothing_else_is(lab: Page, site: Site) -> None:
    kit = lab.locator("sse-lab")
    addresses = {name: str(kit.get_attribute(f"data-{name}")) for name in ("worker", "wasm", "stdlib")}
    for name, address in addresses.items():
        assert re.search(r"\.[0-9a-f]{12}\.", address), address
        for encoding in ("br", "gzip", "identity"):
            answer = httpx.get(site.url + address, headers={"Accept-Encoding": encoding})
            assert answer.status_code == 200
            assert answer.headers.get("content-encoding", "identity") == encoding
            assert "immutable" in answer.headers["cache-control"]
            policy = answer.headers["content-security-policy"]
            assert (policy == SEALED) is (name == "worker")
    assert (
        httpx.get(site.url + re.sub(r"\.[0-9a-f]{12}\.", ".", addresses["worker"])).headers[
            "content-security-policy"
        ]
        == SEALED
    )


def test_editor_and_python_load_here_only_and_from_the_cache_again(log_in: LogIn) -> None:
    page = log_in("lee")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto("/courses/demo/steps/first-token/")
    assert not [url for url in asked if "/build/" in url]
    open_step(page)
    assert len({url for url in asked if "/build/" in url}) >= 3
    page.reload()
    expect(page.locator("sse-lab[data-state=ready]")).to_be_visible(timeout=60_000)
    sizes = page.evaluate(
        "performance.getEntriesByType('resource').filter(r => r.name.includes('/build/')).map(r => r.transferSize)"
    )
    assert sizes and set(sizes) == {0}


def test_the_editor_is_left_by_tab_and_takes_korean(log_in: LogIn) -> None:
    page = log_in("lee")
    open_step(page)
    editor = page.get_by_role("textbox", name="sse.py, a code editor")
    editor.click()
    page.keyboard.press("Control+Home")
    page.keyboard.insert_text("# 안녕하세요\n")
    expect(editor.locator(".cm-line").first).to_have_text("# 안녕하세요")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.hasAttribute('data-run')")
    page.reload()
    expect(page.locator(".cm-line").first).to_have_text("# 안녕하세요")


def test_the_whole_step(log_in: LogIn) -> None:
    """Both rounds on the real server: fresh streams, then the student's own recording."""
    page = log_in("park")
    open_step(page)
    write(page, source("solution"))
    press_run(page)  # not run by hand: what is sent is run first
    finished(page)
    own = page.locator("[name=ms_per_token]")
    expect(own).to_be_visible()
    expect(page.locator("sse-lab[data-state=ready]")).to_be_visible(timeout=60_000)
    value = run(page, source("solution"))["parse"]["own"]["value"]
    first, last = value["pieces"][0][0], value["pieces"][-1][0]
    own.fill(f"{(last - first) / (value['predicted_n'] - 1):.3f}")
    page.locator("form[data-once] [data-busy]").last.click()
    expect(page.locator(".checks .verdict-pass")).to_have_count(14)
    assert page.locator(".checks .verdict-fail, .checks .verdict-inconclusive").count() == 0
    expect(page.locator(".points")).to_contain_text("27")
