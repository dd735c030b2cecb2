"""Step 7: when may the voice speak? The first sentence, a cap in tokens and a clip in sentences (lab.md 7)."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from labs.grading.checks import Check
from labs.grading.mouth import Caps, Kept, Opening, caps_of, counted, ended, kept_of, opening_of, spoken
from labs.grading.sane import Fault, alone, first_fault, whole
from labs.measure.plan import Plan
from labs.measure.recording import RunRecord
from labs.steps import three
from labs.steps.base import Example, Exhibit, Round, Seen, Step, StepForm
from labs.steps.claims import first_sentence as claims
from labs.steps.fields import MAX_ANSWER_TOKENS, MIN_ANSWER_TOKENS, CharacterMark, MaxTokensField, OneOf
from labs.steps.prompts import as_text
from labs.steps.sentence_tables import counted_table, rules_table, tally_table
from labs.text import N_, Json, Text

MOST_SENTENCES = 3
NO_SENTENCE = Fault(N_("The model did not finish a single sentence, so there is no place to mark."))
NO_CAP = Fault(
    N_(
        "The server did not count the tokens of its pieces, or no cap from 8 to 64 fits any of the five answers."
    )
)


class AskForm(StepForm):
    kept = forms.IntegerField(
        min_value=0,
        max_value=three.ASKED,
        label=_("How many of the five answers will have exactly three sentences?"),
        error_messages={
            "required": _("Write a number from 0 to 5."),
            "invalid": _("Write a number from 0 to 5."),
        },
    )


class AskRound(Round):
    key, title, Form = "ask", N_("Exactly three sentences, five times"), AskForm

    def challenge(self, rng: random.Random, seen: Seen) -> Json:
        return {"topics": three.draw_topics(rng)}

    def exhibits(self, challenge: Json, seen: Seen) -> Sequence[Exhibit]:
        text = "\n\n".join(as_text(three.messages(topic)) for topic in challenge["topics"])
        return [Exhibit(_("Your five questions, each asked once"), "prompt", text)]

    def sample(self, challenge: Json, seen: Seen, tokens: Any = None) -> Mapping[str, Any]:
        return {"kept": 2}

    def plan(self, challenge: Json, answers: Json, seen: Seen) -> Plan:
        return Plan(three.asks(challenge))

    def grade(self, seen: Seen) -> Iterator[Check]:
        run, guess = seen[self.key].run, seen[self.key].answers["kept"]
        if run is None:
            return
        kinds = {key: kept_of(run[key].figures) for key in three.KEYS}
        kept = Counter(kinds.values())[Kept.KEPT]
        said = N_(
            "You guessed that %(guess)s of 5 answers keep to three sentences; %(kept)s did.",
            guess=guess,
            kept=kept,
        )
        fault = first_fault(alone(run), *(whole(run[key]) for key in three.KEYS))
        yield claims.GUESSED.settle(
            fault or (None if _speaking(run) else NO_SENTENCE),
            True,
            said,
            said,
            {
                "saw": {key: str(kind) for key, kind in kinds.items()},
                "rule": N_("guessed before the run; sentences by the graded rule").to_json(),
                "guess": guess,
            },
        )


class MarkForm(StepForm):
    def build(self) -> None:
        for name, text in self.challenge["texts"].items():
            self.fields[f"mark_{name}"] = CharacterMark(
                text, label=_("%(name)s: at which place may the voice start?") % {"name": three.NAMES[name]}
            )
        self.fields["blank"] = OneOf(
            claims.REASONS, label=_("Why does one wait for the blank behind the stop?")
        )
        self.fields["still_cut"] = forms.MultipleChoiceField(
            choices=[(name, f"{three.NAMES[name]}: {self.challenge['texts'][name]}") for name in three.FIXED],
            widget=forms.CheckboxSelectMultiple,
            label=_("Where does the rule 'a stop, then a blank' still start too early?"),
            error_messages={"required": _("Choose at least one.")},
        )


class Mark(Round):
    key, title, Form = "mark", N_("Mark where the voice may start"), MarkForm

    def challenge(self, rng: random.Random, seen: Seen) -> Json:
        texts, run = three.draw_texts(rng), seen["ask"].run
        ask = _ask_to_mark(run, rng) if run is not None else ""
        if ask and run is not None:
            texts[three.OWN] = run[ask].figures.text
        return {"texts": texts, "ask": ask, "ended": bool(ask and run is not None and ended(run[ask]))}

    def exhibits(self, challenge: Json, seen: Seen) -> Sequence[Exhibit]:
        return [tally_table([kept_of(seen.run_of("ask")[key].figures) for key in three.KEYS])]

    def sample(self, challenge: Json, seen: Seen, tokens: Any = None) -> Mapping[str, Any]:
        found = {name: _opening(challenge, name) for name in challenge["texts"]}
        return {
            **{f"mark_{name}": opening.first if opening else 0 for name, opening in found.items()},
            "blank": "inside",
            "still_cut": list(three.STILL_CUT),
        }

    def grade(self, seen: Seen) -> Iterator[Check]:
        answers, challenge = seen[self.key].answers, seen[self.key].challenge
        for name, claim in {**claims.MARKS, three.OWN: claims.OWN}.items():
            opening = _opening(challenge, name)
            mark = answers.get(f"mark_{name}", -1)
            yield claim.settle(
                NO_SENTENCE if opening is None else None,
                opening is not None and opening.holds(mark),
                N_("Right: by then the first sentence is over, and the voice may start."),
                _why_not_there(mark, opening),
                {
                    "saw": {"marked": mark, "text": challenge["texts"].get(name, "")},
                    "rule": N_("any place from the stop to the next visible character").to_json(),
                    "limit": {"first": opening.first, "last": opening.last} if opening else {},
                },
            )
        yield claims.BLANK.settle(
            None,
            answers["blank"] == "inside",
            N_("Right: only the blank tells a stop from a dot inside a number or an abbreviation."),
            N_(
                "Choose the reason that 3.5 shows: its dot is a stop, too, until the next character says otherwise."
            ),
            {"saw": {"said": answers["blank"]}},
        )
        cut = {name for name in three.FIXED if (found := _opening(challenge, name)) and found.teaching_cuts}
        yield claims.STILL_CUTS.settle(
            None,
            set(answers["still_cut"]) == cut,
            N_("Right: the abbreviation and the number of the list have a blank behind their dots."),
            N_(
                "Apply the rule to each text: the first dot with a blank behind it is where it starts to speak. Choose "
                "the texts whose sentence is not over there."
            ),
            {
                "saw": {"said": list(answers["still_cut"]), "cut": sorted(cut)},
                "rule": N_("the handout's rule ends before the graded rule does").to_json(),
            },
        )


class CapForm(StepForm):
    cap = MaxTokensField(label=_("The cap: max_tokens for such an answer (8 to 64)"))
    clip = forms.IntegerField(
        min_value=1,
        max_value=10,
        label=_("The clip: how many sentences may your code hand to the voice (1 to 10)?"),
        error_messages={"required": _("Write a number of sentences."), "invalid": _("Write a whole number.")},
    )


class CapRound(Round):
    key, title, Form = "cap", N_("Choose a cap and a clip"), CapForm

    def challenge(self, rng: random.Random, seen: Seen) -> Json:
        mark = seen["mark"].challenge
        pieces = counted(seen.run_of("ask")[mark["ask"]]) if mark["ask"] else []
        return {"pieces": pieces, "ended": mark["ended"]}

    def exhibits(self, challenge: Json, seen: Seen) -> Sequence[Exhibit]:
        mark = seen["mark"].challenge
        openings = {name: _opening(mark, name) for name in mark["texts"]}
        return [rules_table(mark["texts"], openings), counted_table(challenge["pieces"])]

    def sample(self, challenge: Json, seen: Seen, tokens: Any = None) -> Mapping[str, Any]:
        caps = _caps(challenge)
        cap = max(MIN_ANSWER_TOKENS, min(caps.third, MAX_ANSWER_TOKENS)) if caps else MIN_ANSWER_TOKENS
        return {"cap": cap, "clip": MOST_SENTENCES}

    def grade(self, seen: Seen) -> Iterator[Check]:
        answers, challenge = seen[self.key].answers, seen[self.key].challenge
        caps, cap, clip = _caps(challenge), answers["cap"], answers["clip"]
        said = spoken(challenge["pieces"], cap, clip, ended=challenge["ended"])
        saw: Json = {"cap": cap, "clip": clip, "spoken": said}
        yield claims.CAP.settle(
            NO_CAP if caps is None else None,
            caps is not None and caps.holds(cap),
            N_(
                "Right: with %(cap)s tokens the first sentence is whole, and the answer cannot run on.",
                cap=cap,
            ),
            N_("A cap of %(cap)s tokens cuts the first sentence in two: raise it.", cap=cap)
            if caps is not None and cap < caps.low
            else N_(
                "A cap of %(cap)s tokens leaves room for much more than three sentences: lower it.", cap=cap
            ),
            {
                "saw": {**saw, "first_sentence_tokens": caps.low, "third_sentence_tokens": caps.third}
                if caps
                else saw,
                "rule": N_(
                    "tokens to the end of the first sentence <= cap <= 1.5 times those to the end of the third"
                ).to_json(),
                "limit": {"least": caps.low, "most": caps.high} if caps else {},
            },
        )
        yield claims.CLIP.settle(
            None,
            clip <= MOST_SENTENCES,
            N_("Right: whatever the model writes, the voice says at most three sentences."),
            N_(
                "With a clip of %(clip)s the voice says up to %(clip)s sentences when the model gets carried away. "
                "Lower it to what the instruction asks for.",
                clip=clip,
            ),
            {
                "saw": saw,
                "rule": N_("the clip leaves at most three sentences").to_json(),
                "limit": {"sentences": MOST_SENTENCES},
            },
        )


def _why_not_there(mark: int, opening: Opening | None) -> Text:
    if opening is not None and mark > opening.last:
        return N_(
            "You marked place %(mark)s, where the next sentence has begun already. Mark a place before its first "
            "character.",
            mark=mark,
        )
    return N_(
        "You marked place %(mark)s, where the first sentence is not over yet. Mark a place behind the stop that ends "
        "it.",
        mark=mark,
    )


def _speaking(run: RunRecord) -> list[str]:
    """The asks whose answers have a whole first sentence."""
    return [key for key in three.KEYS if run[key].figures.first_sentence_end is not None]


def _ask_to_mark(run: RunRecord, rng: random.Random) -> str:
    """One that some cap of the form fits, with more than one sentence where there is such; "" where none has any."""
    keys = _speaking(run)
    fit = [key for key in keys if _fits(caps_of(counted(run[key]), ended=ended(run[key])))]
    several = [key for key in fit if kept_of(run[key].figures) is not Kept.ONE]
    best = several or fit or keys
    return rng.choice(best) if best else ""


def _fits(caps: Caps | None) -> bool:
    return caps is not None and max(caps.low, MIN_ANSWER_TOKENS) <= min(caps.high, MAX_ANSWER_TOKENS)


def _opening(challenge: Json, name: str) -> Opening | None:
    text = challenge["texts"].get(name)
    return None if text is None else opening_of(text, ended=name != three.OWN or challenge["ended"])


def _caps(challenge: Json) -> Caps | None:
    """None where no cap of the form is right."""
    caps = caps_of(challenge["pieces"], ended=challenge["ended"])
    return caps if _fits(caps) else None


class FirstSentence(Step):
    key, order, points = "first-sentence", 7, 10
    title = N_("When may it speak?")
    goal = N_("Find the moment at which the first sentence is over, and keep answers short in code.")
    rounds = (AskRound(), Mark(), CapRound())
    shows = frozenset({"voice"})
    needs = frozenset({"slots", "content"})
    budget_ms = 4_500

    def examples(self) -> Sequence[Example]:
        from labs.steps.examples import first_sentence

        return first_sentence.examples(self)
