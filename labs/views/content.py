"""The lab's own theory pages: Markdown in the content folder, rendered without raw HTML."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path

from django.conf import settings
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.token import Token

import labs.steps

# A heading's own name, the same in every language: `## Why {#why}`.
ANCHOR = re.compile(r"\s*\{#([a-z0-9-]+)\}$")
# So much code fits into one line of a phone, and is not broken at its hyphens.
SHORT_CODE_CHARACTERS = 30
CONTENT = Path(labs.steps.__file__).parent / "content"


def theory(step_key: str, language: str) -> SafeString:
    """The step's page in `language`, else in English, else nothing."""
    for code in (language.partition("-")[0], settings.LANGUAGE_CODE):
        path = CONTENT / code / f"{step_key}.md"
        if path.is_file():
            return _render(path, path.stat().st_mtime_ns)
    return mark_safe("")


@cache
def _render(path: Path, _changed_ns: int) -> SafeString:
    # Ours, and with html off nothing in it can become a tag; still no attribute may carry a style (CSP).
    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = markdown.parse(path.read_text(encoding="utf-8"))
    _name_headings(tokens)
    for token in tokens:
        token.attrs.pop("style", None)
        for inner in token.children or ():
            if inner.type == "code_inline" and len(inner.content) <= SHORT_CODE_CHARACTERS:
                inner.attrSet("class", "short")
        if token.tag in {"h1", "h2", "h3"}:
            token.tag = {"h1": "h3", "h2": "h3", "h3": "h4"}[token.tag]
    return mark_safe(str(markdown.renderer.render(tokens, markdown.options, {})))  # noqa: S308


def _name_headings(tokens: Sequence[Token]) -> None:
    for heading, words in pairwise(tokens):
        last = words.children[-1] if heading.type == "heading_open" and words.children else None
        if last is not None and (anchor := ANCHOR.search(last.content)):
            heading.attrSet("id", anchor[1])
            last.content = last.content[: anchor.start()]
