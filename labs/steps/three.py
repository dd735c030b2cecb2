"""What `first-sentence` asks and shows: five questions for exactly three sentences, and short texts to mark."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from django.utils.translation import gettext_lazy as _

from labs.measure.plan import Ask
from labs.text import N_, Json

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

ASKED, PROMPT_TOKENS, ANSWER_TOKENS = 5, 46, 72
KEYS = tuple(f"answer-{i}" for i in range(1, ASKED + 1))

# Seven words each, so that whoever draws which has as many tokens to compute.
TOPICS: Sequence[str] = (
    "why bread rises in a warm oven",
    "why cats sleep so long each day",
    "why the sea is salty to drink",
    "how a bicycle stays upright while moving",
    "why leaves turn red in late autumn",
    "how bees tell others about new flowers",
    "why the moon changes its shape monthly",
    "how soap removes grease from dirty plates",
    "why we feel thirsty after salty food",
    "how a kite stays up in wind",
    "why people yawn when feeling very tired",
    "how a magnet pulls on iron nails",
)

DECIMAL, ABBREVIATION, LIST, KOREAN, OWN = "decimal", "abbreviation", "list", "korean", "own"
FIXED = (DECIMAL, ABBREVIATION, LIST, KOREAN)
# Where the handout's rule, a stop and then white space, still cuts: a test holds it against the code.
STILL_CUT = (ABBREVIATION, LIST)
NAMES: Mapping[str, StrOrPromise] = {
    DECIMAL: _("A decimal number"),
    ABBREVIATION: _("An abbreviation"),
    LIST: _("An item of a list"),
    KOREAN: _("Korean"),
    OWN: _("Your own recording"),
}
VERBS = ("costs", "weighs", "lasts", "needs", "holds")
UNITS = ("dollars", "kilos", "hours", "liters", "meters")
BEGINS = ("Come", "Meet us", "It opens", "Call me", "We eat")
ADVERBS = ("sharp", "today", "daily", "again", "then")
ORDERS = ("Open it", "Close the lid", "Press the key", "Lift the cup", "Turn it around")
ENDINGS = (
    ("좋습니다", "네"),
    ("알겠습니다", "곧"),
    ("괜찮습니다", "또"),
    ("맞습니다", "그럼"),
    ("그렇습니다", "자"),
)


def draw_texts(rng: random.Random) -> dict[str, str]:
    """The client's four kinds of text in this student's own words and numbers."""
    whole, part, hour, item = (rng.randrange(1, 10) for _place in range(4))
    said, more = rng.choice(ENDINGS)
    return {
        DECIMAL: f"It {rng.choice(VERBS)} {whole}.{part} {rng.choice(UNITS)}. Next",
        ABBREVIATION: f"{rng.choice(BEGINS)} at {hour} {rng.choice(('a.m.', 'p.m.'))} {rng.choice(ADVERBS)}. Go",
        LIST: f"{item}. {rng.choice(ORDERS)}.",
        KOREAN: f"{said}. {more}",
    }


def draw_topics(rng: random.Random) -> list[str]:
    return rng.sample(TOPICS, ASKED)


def messages(topic: str) -> tuple[dict[str, str], ...]:
    return ({"role": "user", "content": f"Please explain {topic}, in exactly three sentences."},)


def asks(challenge: Json) -> tuple[Ask, ...]:
    """The server counts the tokens of every piece, so that a cap can be tried on the recording afterwards."""
    return tuple(
        Ask(
            key,
            messages(topic),
            ANSWER_TOKENS,
            count_pieces=True,
            about_prompt_tokens=PROMPT_TOKENS,
            title=N_("Question %(i)s of 5", i=i),
        )
        for i, (key, topic) in enumerate(zip(KEYS, challenge["topics"], strict=True), 1)
    )
