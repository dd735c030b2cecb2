"""The token diff as a page draws it: pairs of prompts that followed one another in a slot."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby
from typing import Literal, NamedTuple

from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from labs.measure.diff import Box, Diff, diff
from labs.measure.plan import Ask, Get, Plan
from labs.measure.recording import Recording, RunRecord
from labs.views.words import NONE

Kind = Literal["lab", "same", "split", "rest", "mark"]


class ShownBox(NamedTuple):
    """`ticks`: for a box of several tokens, each of them: is it in the prefix, does the prefix end behind it."""

    text: str
    ticks: Sequence[str] = ()

    @property
    def html(self) -> str:
        text = escape(self.text, quote=False)
        if not self.ticks:
            return f"<span>{text}</span>"
        ticks = "".join(f'<i class="{tick}"></i>' if tick else "<i></i>" for tick in self.ticks)
        return f'<span class="joined">{text}<span class="ticks" aria-hidden="true">{ticks}</span></span>'


@dataclass(frozen=True, slots=True)
class Part:
    """A stretch of boxes of one kind, or a mark between two boxes with its words in `text`."""

    kind: Kind
    boxes: Sequence[ShownBox] = ()
    text: str = ""

    @property
    def html(self) -> SafeString:
        """Not by the template: a page has thousands of boxes, and half of its time went there."""
        return SafeString("".join(box.html for box in self.boxes))


@dataclass(frozen=True, slots=True)
class ShownDiff:
    title_before: str
    title_after: str
    before: Sequence[Part]
    after: Sequence[Part]
    found: Diff
    cache_n: int | None
    prompt_n: int | None
    predicted: int | None

    @property
    def sentences(self) -> list[str]:
        """What the painted boxes say, for those who do not see them."""
        found = self.found
        said = [
            _("Both prompts are the same, all %(n)s tokens.") % {"n": found.n_after}
            if found.same
            else _("The first %(lcp)s of %(n)s tokens are the same as before.")
            % {"lcp": found.lcp, "n": found.n_after}
        ]
        if (box := found.split) is not None:
            said.append(_inside(box))
        return said

    @property
    def expected(self) -> str:
        low, high = self.found.expected
        return str(low) if low == high else f"{low}–{high}"

    @property
    def actual(self) -> str:
        return NONE if self.cache_n is None else str(self.cache_n)


def run_diffs(
    plan: Plan, record: RunRecord, titles: Mapping[str, str], predicted: Mapping[str, int]
) -> Iterator[ShownDiff]:
    """One for every ask that found another one's prompt in its slot and was allowed to use it."""
    held: dict[int, Ask] = {}
    for item in plan.items:
        if isinstance(item, Get) and item.what == "erase":
            held.pop(item.slot, None)
        if not isinstance(item, Ask):
            continue
        before, held[item.slot] = held.get(item.slot), item
        if before is not None and item.cache:
            yield from _pair(before, item, record, titles, predicted.get(item.key))


def _pair(
    before: Ask, after: Ask, record: RunRecord, titles: Mapping[str, str], predicted: int | None
) -> Iterator[ShownDiff]:
    then, now = record.get(before.key), record.get(after.key)
    if then is None or now is None:
        return
    found = diff(then, now, record, lab_line=after.lab_line and before.lab_line, cache=after.cache)
    if found is None:
        return
    yield ShownDiff(
        title_before=titles.get(before.key, before.key),
        title_after=titles.get(after.key, after.key),
        before=list(_parts(found.before, {})),
        after=list(_parts(found.after, _marks(found, now, predicted))),
        found=found,
        cache_n=now.figures.cache_n,
        prompt_n=now.figures.prompt_n,
        predicted=predicted,
    )


def _marks(found: Diff, now: Recording, predicted: int | None) -> dict[int, str]:
    """Words by the token in front of which they stand."""
    words: dict[int, list[str]] = {found.lcp: [_("prefix ends: %(n)s") % {"n": found.lcp}]}
    if predicted is not None:
        words.setdefault(predicted, []).append(_("your prediction: %(n)s") % {"n": predicted})
    if (cache_n := now.figures.cache_n) is not None:
        words.setdefault(cache_n, []).append(f"cache_n: {cache_n}")
    return {at: " · ".join(said) for at, said in words.items()}


def _parts(boxes: Sequence[Box], marks: Mapping[int, str]) -> Iterator[Part]:
    """Marks behind the last token, or nowhere in the prompt, come last."""
    waiting = sorted(marks.items())
    row: list[tuple[Kind, ShownBox]] = []
    for box in boxes:
        while waiting and waiting[0][0] < box.first + box.count:
            yield from _grouped(row)
            row = []
            yield Part("mark", text=waiting.pop(0)[1])
        row.append((_kind(box), _shown(box)))
    yield from _grouped(row)
    for _at, text in waiting:
        yield Part("mark", text=text)


def _grouped(row: Sequence[tuple[Kind, ShownBox]]) -> Iterator[Part]:
    for kind, boxes in groupby(row, key=lambda pair: pair[0]):
        yield Part(kind, [box for _kind, box in boxes])


def _kind(box: Box) -> Kind:
    if box.in_lab_line:
        return "lab"
    if box.is_split:
        return "split"
    return "same" if box.shared else "rest"


def _shown(box: Box) -> ShownBox:
    text = box.text.replace("\n", "⏎\n")
    if box.count == 1:
        return ShownBox(text)
    end = box.shared - 1 if box.is_split else -1
    return ShownBox(text, ["end" if i == end else "in" if i < box.shared else "" for i in range(box.count)])


def _inside(box: Box) -> str:
    places = {"text": box.text, "k": box.shared, "count": box.count}
    if len(box.text) == 1 and unicodedata.name(box.text, "").startswith("HANGUL SYLLABLE"):
        return _("The prefix ends inside the syllable %(text)s, after token %(k)s of %(count)s.") % places
    return _("The prefix ends inside the character %(text)s, after token %(k)s of %(count)s.") % places
