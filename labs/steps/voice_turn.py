"""Step 9: five turns of one conversation, laid out so that the mouth opens early (lab.md 9)."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django.utils.translation import gettext_lazy as _

from labs.grading.checks import Check
from labs.grading.sane import Fault, alone, first_fault, unstopped, whole
from labs.grading.split import within
from labs.grading.turns import (
    SHARE,
    computed,
    first_sentence_tokens,
    layout_fault,
    lost_texts,
    sentence_fault,
    would_compute,
)
from labs.grading.voice_rank import Pace, cost_ms, turn_ms
from labs.measure.plan import Ask, Get, Plan
from labs.measure.recording import Recording, RunRecord
from labs.measure.stats import median
from labs.steps import talk, talk_tables
from labs.steps.base import Example, Exhibit, Round, Score, Seen, Step
from labs.steps.claims import voice_turn as claims
from labs.steps.prompts import as_text
from labs.steps.talk import TURNS, Layout, Talk
from labs.steps.talk_fields import riding_of
from labs.steps.talk_forms import DesignForm, MouthForm
from labs.text import N_, Json

KEYS = tuple(f"turn-{turn}" for turn in TURNS)
REFERENCES = tuple(f"reference-{turn}" for turn in TURNS)
MOUTH_SLACK_MS = 1.0
PACE = Pace()
NO_TOKENS = Fault(N_("The server did not give the tokens of the prompts, so they cannot be compared."))
TEMPLATE_DROPS = Fault(N_("The server's template did not carry every text into the prompt word by word."))


class Design(Round):
    key, title, Form = "design", N_("Lay out five turns"), DesignForm
    keeps = frozenset({"order", "style", "max_tokens", "sentences"})

    def challenge(self, rng: random.Random, seen: Seen) -> Json:
        return talk.draw(rng)

    def exhibits(self, challenge: Json, seen: Seen) -> Sequence[Exhibit]:
        drawn = Talk.of(challenge)
        second = as_text(talk.reference(drawn).messages(drawn, 2))
        return [
            talk_tables.conversation(drawn),
            talk_tables.documents(drawn),
            Exhibit(
                _("The reference layout, turn 2"),
                "prompt",
                second,
                note=_(
                    "The clock in front, all seven documents in every turn. It is only counted, never sent."
                ),
            ),
        ]

    def sample(self, challenge: Json, seen: Seen, tokens: Any = None) -> Mapping[str, Any]:
        drawn = Talk.of(challenge)
        needed = [drawn.needed(turn) for turn in TURNS]
        order = (talk.STYLE, talk.DOCS, talk.EARLIER, talk.CLOCK, talk.QUESTION)
        return {
            "order": ",".join(order),
            "riding": [f"{turn}:{key}" for turn in TURNS for key in needed],
            "style": talk.REFERENCE_STYLE,
            "max_tokens": 48,
            "sentences": 2,
            "guess": 250,
        }

    def plan(self, challenge: Json, answers: Json, seen: Seen) -> Plan:
        drawn, layout = Talk.of(challenge), _layout(answers)
        prompts = [layout.messages(drawn, turn) for turn in TURNS]
        reference = talk.reference(drawn)
        asks = [
            Ask(
                key,
                prompt,
                answers["max_tokens"],
                lab_line=True,
                count_pieces=True,
                about_prompt_tokens=talk.about_computed(prompt, before),
                title=N_("Turn %(i)s", i=turn),
            )
            for turn, key, prompt, before in zip(TURNS, KEYS, prompts, (None, *prompts), strict=False)
        ]
        counted = [
            Get(key, "tokens", messages=reference.messages(drawn, turn))
            for turn, key in zip(TURNS, REFERENCES, strict=True)
        ]
        return Plan((*asks, *counted))

    def grade(self, seen: Seen) -> Iterator[Check]:
        answers, run = seen[self.key].answers, seen[self.key].run
        if run is None:
            return
        turns, drawn = [run[key] for key in KEYS], Talk.of(seen[self.key].challenge)
        computed_n, reference_n = sum(computed(turns)[1:]), sum(_reference(run))
        yield claims.GUESSED.settle(
            layout_fault(run, turns),
            True,
            N_(
                "You guessed %(guess)s tokens; turns 2 to 5 computed %(computed)s.",
                guess=answers["guess"],
                computed=computed_n,
            ),
            N_("No guess was made."),
            {"saw": {"guess": answers["guess"], "prompt_n": computed_n}},
        )
        lacking, fault = _lacking(turns, drawn), _text_fault(turns, drawn, answers)
        yield claims.VALID.settle(
            fault,
            not lacking,
            N_("Every prompt holds its question, its clock and the document that it needs."),
            N_(
                "The document that the question needs is missing in turn %(turns)s. Let it ride there.",
                turns=", ".join(map(str, lacking)),
            ),
            {
                "saw": {"missing": _named(lacking)},
                "rule": N_(
                    "question, clock and needed document stand in the tokens of each prompt, word by word"
                ).to_json(),
            },
        )
        yield claims.HALF.settle(
            first_fault(layout_fault(run, turns), fault, None if reference_n else NO_TOKENS),
            not lacking and computed_n <= SHARE * reference_n,
            N_(
                "Turns 2 to 5 computed %(computed)s prompt tokens; the reference layout would compute %(reference)s.",
                computed=computed_n,
                reference=reference_n,
            ),
            N_("Your layout is cheap because it lacks what a turn needs. Let the documents ride first.")
            if lacking
            else N_(
                "Turns 2 to 5 computed %(computed)s prompt tokens, more than half of the reference layout's "
                "%(reference)s. Find what changes between two turns and stands in front of what does not.",
                computed=computed_n,
                reference=reference_n,
            ),
            {
                "saw": _by_turn(turns, [None, *_reference(run)]),
                "rule": N_("sum of prompt_n over turns 2 to 5 <= half of the reference layout's").to_json(),
                "limit": {"tokens": int(SHARE * reference_n)},
                "lab_line_tokens": run.lab_line_tokens,
                "metrics_agree": run.metrics_agree,
            },
        )
        cap, ends = answers["max_tokens"], [first_sentence_tokens(turn) for turn in turns]
        silent = [
            str(i) for i, turn in zip(TURNS, turns, strict=True) if turn.figures.first_sentence_end is None
        ]
        yield claims.SENTENCE.settle(
            sentence_fault(run, turns, cap),
            not silent,
            N_("In every turn the first sentence ended within %(cap)s tokens.", cap=cap),
            N_(
                "With a cap of %(cap)s tokens no sentence was finished in turn %(turns)s. Raise max_tokens, or ask for "
                "short sentences in the style line.",
                cap=cap,
                turns=", ".join(silent),
            ),
            {
                "saw": {
                    key: {"first_sentence_tokens": end, "first_sentence_us": turn.figures.first_sentence_us}
                    for key, turn, end in zip(KEYS, turns, ends, strict=True)
                },
                "rule": N_("the first sentence, by the graded rule, ends before max_tokens").to_json(),
                "limit": {"tokens": cap},
            },
        )


class Mouth(Round):
    key, title, Form = "mouth", N_("When did the mouth open?"), MouthForm

    def challenge(self, rng: random.Random, seen: Seen) -> Json:
        turn = rng.choice(TURNS[1:])
        # Read from the frames, which are not kept for ever.
        return {"turn": turn, "tokens": talk_tables.tokens_to_mouth(seen.run_of("design")[f"turn-{turn}"])}

    def exhibits(self, challenge: Json, seen: Seen) -> Sequence[Exhibit]:
        run = seen["design"].run
        return () if run is None else [talk_tables.counts([run[key] for key in KEYS])]

    def sample(self, challenge: Json, seen: Seen, tokens: Any = None) -> Mapping[str, Any]:
        return {"mouth_ms": _mouth_ms(seen, challenge) or 0}

    def grade(self, seen: Seen) -> Iterator[Check]:
        run, said_ms = seen.run_of("design"), seen[self.key].answers["mouth_ms"]
        turn = run[f"turn-{seen[self.key].challenge['turn']}"]
        truth_ms = _mouth_ms(seen, seen[self.key].challenge)
        yield claims.MOUTH.settle(
            first_fault(alone(run), whole(turn), None if truth_ms is not None else NO_TOKENS),
            truth_ms is not None and within(said_ms, truth_ms, MOUTH_SLACK_MS),
            N_("Right: by these counts the voice may start after %(truth)s ms.", truth=truth_ms or 0),
            N_(
                "You said %(said)s ms. Take 4.5 ms for each prompt token that was computed and 9 ms for each token to "
                "the end of the first sentence, and add.",
                said=said_ms,
            ),
            {
                "saw": {"said_ms": said_ms, "by_counts_ms": truth_ms},
                "rule": N_("prompt_n * 4.5 ms + tokens to the end of the first sentence * 9 ms").to_json(),
                "limit": {"slack_ms": MOUTH_SLACK_MS},
            },
        )


def _layout(answers: Json) -> Layout:
    return Layout(answers["order"], riding_of(answers["riding"]), answers["style"])


def _reference(run: RunRecord) -> list[int]:
    """What the reference layout would compute in turns 2 to 5; [] where the server did not say."""
    prompts = [found.prompt_ids for key in REFERENCES if (found := run.get(key)) is not None]
    return would_compute(prompts) if len(prompts) == len(REFERENCES) and all(prompts) else []


def _lacking(turns: Sequence[Recording], drawn: Talk) -> dict[int, list[str]]:
    """By turn: the names of what its prompt should hold and does not."""
    found = {}
    for number, turn in zip(TURNS, turns, strict=True):
        wanted = drawn.verbatim(number)
        lost = lost_texts(turn, list(wanted.values()))
        if missing := [name for name, text in wanted.items() if lost and text in lost]:
            found[number] = missing
    return found


def _text_fault(turns: Sequence[Recording], drawn: Talk, answers: Json) -> Fault | None:
    """Without the prompts' tokens nobody can tell; and what the student sent must have come through."""
    if any(lost_texts(turn, ()) is None for turn in turns):
        return NO_TOKENS
    riding = riding_of(answers["riding"])
    for number, missing in _lacking(turns, drawn).items():
        chosen = {*riding.get(number, ()), talk.CLOCK, talk.QUESTION}
        if chosen.intersection(missing):
            return TEMPLATE_DROPS
    return None


def _named(lacking: Mapping[int, Sequence[str]]) -> str:
    return "; ".join(f"{turn}: {', '.join(names)}" for turn, names in lacking.items())


def _by_turn(turns: Sequence[Recording], reference: Sequence[int | None]) -> Json:
    padded = [*reference, *[None] * (len(turns) - len(reference))]
    return {
        turn.key: {
            "n": turn.n,
            "cache_n": turn.figures.cache_n,
            "prompt_n": turn.figures.prompt_n,
            "reference_prompt_n": counted,
        }
        for turn, counted in zip(turns, padded, strict=True)
    }


def _mouth_ms(seen: Seen, challenge: Json) -> float | None:
    prompt_n = seen.run_of("design")[f"turn-{challenge['turn']}"].figures.prompt_n
    tokens = challenge["tokens"]
    return None if tokens is None or prompt_n is None else round(turn_ms(prompt_n, tokens, PACE), 1)


class VoiceTurn(Step):
    key, order, points = "voice-turn", 9, 10
    title = N_("Open your mouth early")
    goal = N_("Lay out a conversation of five turns so that almost nothing is computed twice.")
    rounds = (Design(), Mouth())
    requires = frozenset({"cache-break"})
    shows = frozenset({"diff", "voice"})
    needs = frozenset({"slots", "content", "prefix"})
    budget_ms = 5_000

    def scores(self, seen: Seen) -> Iterator[Score]:
        """By counts at a fixed pace, so that a lucky moment ranks nobody; the measured median stands beside it."""
        run = seen.run_of(Design.key)
        turns, drawn = [run[key] for key in KEYS], Talk.of(seen[Design.key].challenge)
        value = cost_ms(turns, PACE)
        if layout_fault(run, turns) or value is None or _lacking(turns, drawn):
            return
        timed = () if unstopped(run) else turns
        opened_ms = median(us / 1000 for turn in timed if (us := turn.figures.first_sentence_us) is not None)
        detail = {
            "prompt_n": sum(computed(turns)),
            "sentence_tokens": sum(first_sentence_tokens(turn) or 0 for turn in turns),
            "opened_ms": None if opened_ms is None else round(opened_ms, 1),
        }
        yield Score("voice", round(value, 1), detail, run)

    def examples(self) -> Sequence[Example]:
        from labs.steps.examples import voice_turn

        return voice_turn.examples(self)
