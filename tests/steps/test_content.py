"""Every step has its two pages, with the same anchors, in plain Markdown, short enough to be read."""

from __future__ import annotations

import re

import pytest

from labs.steps import all_steps
from labs.views.content import CONTENT, theory

LANGUAGES = ("ko", "en")
PAGES = [(key, language) for key in all_steps() for language in LANGUAGES]


def anchors(key: str, language: str) -> list[str]:
    text = (CONTENT / language / f"{key}.md").read_text(encoding="utf-8")
    return re.findall(r"^##+ .+\{#([a-z0-9-]+)\}$", text, flags=re.M)


@pytest.mark.parametrize("key", all_steps())
def test_both_languages_have_the_same_anchors(key: str) -> None:
    assert anchors(key, "ko") == anchors(key, "en") != []


@pytest.mark.parametrize(("key", "language"), PAGES)
def test_a_page_is_plain_markdown_with_named_headings(key: str, language: str) -> None:
    text = (CONTENT / language / f"{key}.md").read_text(encoding="utf-8")
    assert not re.search(r"</?[a-z]+[ >]", text)
    html = theory(key, language)
    assert all(f'id="{anchor}"' in html for anchor in anchors(key, language))
    assert "{#" not in html
    assert len(text.split()) < 750


@pytest.mark.parametrize("key", all_steps())
def test_pages_are_in_their_language(key: str) -> None:
    def share(language: str) -> float:
        text = re.sub(r"`[^`]*`|\W|\d", "", (CONTENT / language / f"{key}.md").read_text(encoding="utf-8"))
        return len(re.findall(r"[가-힣]", text)) / len(text)

    assert share("ko") > 0.6
    assert share("en") == 0
