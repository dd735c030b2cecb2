"""The conversation of `voice-turn`: five questions with scripted replies, seven documents, and a layout for them.

The same for everybody are the documents, the questions and their replies; whose order they come in, and what the
clock says, is drawn. So everybody's prompts have as many tokens.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.utils.translation import gettext_lazy as _

from labs.steps.blocks import clock_line
from labs.steps.corpus import DOCUMENTS, QUESTIONS
from labs.steps.prompts import as_text
from labs.text import Json

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

Messages = tuple[dict[str, str], ...]

TURNS = range(1, 6)
STYLE, DOCS, EARLIER, CLOCK, QUESTION = "style", "documents", "earlier", "clock", "question"
BLOCKS = (STYLE, DOCS, EARLIER, CLOCK, QUESTION)
# What most people write first: the clock in front of everything, and all documents in every turn.
REFERENCE_ORDER = (CLOCK, STYLE, DOCS, EARLIER, QUESTION)
REFERENCE_STYLE = "Answer in one short sentence."

# By document: where it stands in the corpus, and what it is called on the form.
_PLACES = {"opens": 0, "card": 1, "loans": 2, "seats": 3, "maps": 4, "van": 6, "garden": 8}
TITLES: Mapping[str, StrOrPromise] = {
    "opens": _("Opening hours"),
    "card": _("Cards"),
    "loans": _("Loans"),
    "seats": _("Reading room"),
    "maps": _("Old maps"),
    "van": _("Bookmobile"),
    "garden": _("Garden"),
}
# What the assistant is said to have replied: eight words and stops each.
_REPLIES = {
    "opens": "It opens at nine in the morning.",
    "card": "A day card costs only two dollars.",
    "loans": "A book may stay for three weeks.",
    "maps": "The map room opens on every Thursday.",
    "van": "The van is painted in bright green.",
}
# By question: the document that holds the fact it asks for.
NEEDED: Mapping[str, str] = {QUESTIONS[_PLACES[key]]: key for key in _REPLIES}


@dataclass(frozen=True, slots=True)
class Turn:
    question: str
    reply: str
    clock: str


@dataclass(frozen=True, slots=True)
class Talk:
    """What is drawn for a student, in order."""

    documents: Sequence[str]
    turns: Sequence[Turn]

    @classmethod
    def of(cls, challenge: Json) -> Talk:
        return cls(challenge["documents"], [Turn(**turn) for turn in challenge["turns"]])

    def needed(self, turn: int) -> str:
        return NEEDED[self.turns[turn - 1].question]

    def verbatim(self, turn: int) -> dict[str, str]:
        """What the rendered prompt of a turn must hold word by word, by name."""
        now, key = self.turns[turn - 1], self.needed(turn)
        return {CLOCK: clock_line(now.clock), QUESTION: now.question, key: document(key)}


@dataclass(frozen=True, slots=True)
class Layout:
    """`order` holds every block once, the question behind the earlier turns. `riding`: documents by turn, from 1."""

    order: Sequence[str]
    riding: Mapping[int, Sequence[str]]
    style: str

    def messages(self, talk: Talk, turn: int) -> Messages:
        """What stands before the earlier turns is the system message; the rest is the user's, in one message."""
        at = list(self.order).index(EARLIER)
        said = [
            message
            for before in talk.turns[: turn - 1]
            for message in (
                {"role": "user", "content": before.question},
                {"role": "assistant", "content": before.reply},
            )
        ]
        system = self._join(talk, turn, self.order[:at])
        user = self._join(talk, turn, self.order[at + 1 :])
        first = [{"role": "system", "content": system}] if system else []
        return (*first, *said, {"role": "user", "content": user})

    def parts(self, talk: Talk, turn: int) -> dict[str, str]:
        """The text of every block but the earlier turns, which are messages of their own."""
        now = talk.turns[turn - 1]
        riding = [document(key) for key in talk.documents if key in self.riding.get(turn, ())]
        return {
            STYLE: self.style,
            DOCS: "\n\n".join(riding),
            CLOCK: clock_line(now.clock),
            QUESTION: now.question,
        }

    def _join(self, talk: Talk, turn: int, blocks: Sequence[str]) -> str:
        texts = self.parts(talk, turn)
        return "\n\n".join(texts[block] for block in blocks if texts[block])


def document(key: str) -> str:
    return DOCUMENTS[_PLACES[key]]


def reference(talk: Talk) -> Layout:
    return Layout(REFERENCE_ORDER, dict.fromkeys(TURNS, talk.documents), REFERENCE_STYLE)


def draw(rng: random.Random) -> Json:
    keys = list(_REPLIES)
    rng.shuffle(keys)
    turns = [
        {"question": QUESTIONS[_PLACES[key]], "reply": _REPLIES[key], "clock": clock}
        for key, clock in zip(keys, _clocks(rng, len(keys)), strict=True)
    ]
    return {"documents": rng.sample(list(_PLACES), len(_PLACES)), "turns": turns}


def _clocks(rng: random.Random, count: int) -> list[str]:
    """Times of day of which each differs from the one before in both digits of its hour."""
    hours: list[int] = []
    while len(hours) < count:
        hour = rng.randrange(24)
        if not hours or (hour // 10 != hours[-1] // 10 and hour % 10 != hours[-1] % 10):
            hours.append(hour)
    return [f"{hour:02}:{rng.randrange(60):02}:{rng.randrange(60):02}" for hour in hours]


CHARACTERS_PER_TOKEN, TEMPLATE_TOKENS = 4.3, 20


def about_computed(now: Messages, before: Messages | None) -> int:
    """For the budget of machine time only: a prompt's tokens behind what it shares with the one before."""
    text, held = as_text(now), as_text(before) if before else ""
    shared = next((i for i, (a, b) in enumerate(zip(text, held, strict=False)) if a != b), len(held))
    return round((len(text) - shared) / CHARACTERS_PER_TOKEN) + TEMPLATE_TOKENS
