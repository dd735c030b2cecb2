"""Catalogs by Babel alone, because GNU gettext is not on every machine.

The sources are named here and not in a mapping file: a wrong section there extracts nothing and says nothing.
"""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from babel.messages.catalog import Catalog, Message
from babel.messages.extract import DEFAULT_KEYWORDS, extract_from_dir, extract_python
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po

ROOT = Path(__file__).resolve().parent.parent
LOCALE = ROOT / "labs" / "locale"
LANGUAGES = ("ko", "en")
# English is the source: an empty entry there is shown as its msgid.
TRANSLATED = ("ko",)
LEAST_MESSAGES = 200

HEADER = "# Sentences of LabHub Voice. `scripts/messages update` keeps the list."

KEYWORDS = {
    **DEFAULT_KEYWORDS,
    "gettext_lazy": None,
    "gettext_noop": None,
    "ngettext_lazy": (1, 2),
    "pgettext_lazy": ((1, "c"), 2),
}
_PLACE = re.compile(r"%\(\w+\)s|%\(\w+\)d|%%")

Extracted = tuple[int, str | tuple[str, ...], list[str], str | None]


def extract_template(fileobj: Any, keywords: Any, comment_tags: Any, options: Any) -> Iterator[Extracted]:
    """Django's own reading of a template as Python source, then Babel's of that."""
    from django.utils.translation.template import templatize

    source = templatize(fileobj.read().decode("utf-8"))
    yield from extract_python(io.BytesIO(source.encode("utf-8")), keywords, comment_tags, options)


METHODS: list[tuple[str, Any]] = [("**.py", "python"), ("**.html", extract_template)]


def extracted() -> Catalog:
    """Every sentence of the code and the templates, with the files it stands in."""
    found = Catalog(project="LabHub Voice", charset="utf-8")
    for folder in ("labs", "templates"):
        for name, _line, message, comments, context in extract_from_dir(
            str(ROOT / folder), METHODS, keywords=KEYWORDS, strip_comment_tags=True
        ):
            if message:
                found.add(message, None, [(f"{folder}/{name}", 0)], auto_comments=comments, context=context)
    return found


def path_of(language: str) -> Path:
    return LOCALE / language / "LC_MESSAGES" / "django.po"


def read(language: str) -> Catalog:
    with path_of(language).open("rb") as file:
        return read_po(file, locale=language, charset="utf-8")


def update() -> None:
    """Adds new sentences, drops those no longer used; a translation is never guessed from a similar one."""
    found = extracted()
    for language in LANGUAGES:
        path = path_of(language)
        catalog = read(language) if path.exists() else Catalog(locale=language, project="LabHub Voice")
        found.creation_date = catalog.creation_date  # a date that changes at every run makes every diff noise
        catalog.update(found, no_fuzzy_matching=True)
        catalog.obsolete.clear()
        catalog.fuzzy, catalog.header_comment = (
            False,
            "# Sentences of LabHub Voice. `scripts/messages update` keeps the list.",
        )
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            write_po(file, catalog, width=110, sort_output=True, include_lineno=False)


def compile_all() -> None:
    for language in LANGUAGES:
        path = path_of(language).with_suffix(".mo")
        with path.open("wb") as file:
            write_mo(file, read(language))


def problems(catalog: Catalog, found: Catalog) -> list[str]:
    """What is wrong with a translation of `found`: missing, unsure, or with other places."""
    wrong = []
    for message in _messages(found):
        said = catalog.get(message.id, message.context)
        if said is None or not all(_forms(said.string)):
            wrong.append(f"missing: {message.id!r}")
            continue
        if said.fuzzy:
            wrong.append(f"fuzzy: {message.id!r}")
        # A plural form without its number is right in English ('1 attempt'); none may have a place of its own.
        wanted = {place for form in _forms(message.id) for place in _PLACE.findall(form)}
        for form in _forms(said.string):
            if set(_PLACE.findall(form)) != wanted:
                wrong.append(f"other places: {message.id!r} -> {form!r}")
    return wrong


def check() -> list[str]:
    """Every fault of the stored catalogs, in words."""
    found = extracted()
    wrong = []
    if len(found) < LEAST_MESSAGES:
        wrong.append(
            f"only {len(found)} sentences extracted, fewer than {LEAST_MESSAGES}: is a source left out?"
        )
    for language in TRANSLATED:
        wrong += [f"{language}: {problem}" for problem in problems(read(language), found)]
    return wrong


def _messages(catalog: Catalog) -> Iterable[Message]:
    return (message for message in catalog if message.id)


def _forms(text: str | tuple[str, ...] | list[str] | None) -> tuple[str, ...]:
    return (text,) if isinstance(text, str) else tuple(text or ("",))


def main(verb: str) -> int:
    os.environ.setdefault("LABHUB_DEMO", "1")
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "labhub_voice.settings")
    if verb == "update":
        update()
    elif verb == "compile":
        compile_all()
    elif verb == "check":
        wrong = check()
        print("\n".join(wrong) or "catalogs are complete")
        return 1 if wrong else 0
    else:
        print("usage: scripts/messages update|compile|check", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1] if len(sys.argv) > 1 else ""))
