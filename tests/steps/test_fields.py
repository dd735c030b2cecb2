"""The lab's fields: what a browser without scripts posts, what a script posts, and what nobody may post."""

from __future__ import annotations

from typing import Any

import pytest
from django import forms
from django.utils.datastructures import MultiValueDict

from labs.steps.base import Seen, StepForm
from labs.steps.fields import (
    NONE_OF_THESE,
    BlockOrder,
    CharacterMark,
    ClockField,
    FramePick,
    MaxTokensField,
    MsField,
    TokenPick,
    as_post,
)
from labs.steps.talk_fields import RidingField

TOKENS = [{"id": 1, "text": "The"}, {"id": 2, "text": " <b>"}, {"id": 3, "text": "\n"}]
FRAMES = [{"at_ms": 5.1, "text": "data: {}"}, {"at_ms": 700.2, "text": "data: <script>"}]
BLOCKS = {"rule": ("Rule", "Be short."), "clock": ("Clock", "It is now."), "question": ("Question", "When?")}


class Form(StepForm):
    def build(self) -> None:
        self.fields["token"] = TokenPick(TOKENS)
        self.fields["frame"] = FramePick(FRAMES)
        self.fields["order"] = BlockOrder(BLOCKS)
        self.fields["clock"] = ClockField()
        self.fields["most"] = MaxTokensField()
        self.fields["wait_ms"] = MsField()
        self.fields["several"] = forms.MultipleChoiceField(choices=[("a", "A"), ("b", "B")])


GOOD: dict[str, Any] = {
    "token": "1",
    "frame": "0",
    "order": "clock,rule,question",
    "clock": "23:59:59",
    "most": "8",
    "wait_ms": "12.5",
    "several": ["a", "b"],
}


def form(**changes: Any) -> Form:
    post = {name: value for name, value in {**GOOD, **changes}.items() if value is not None}
    return Form(as_post(post), challenge={}, seen=Seen())


def test_the_answers_are_plain_values() -> None:
    good = form()
    assert good.is_valid(), good.errors
    assert good.answers() == {
        "token": 1,
        "frame": 0,
        "order": ["clock", "rule", "question"],
        "clock": "23:59:59",
        "most": 8,
        "wait_ms": 12.5,
        "several": ["a", "b"],
    }


def test_plain_selects_give_the_same_order_as_a_script() -> None:
    plain = form(**{"order": None, "order-clock": "1", "order-rule": "2", "order-question": "3"})
    assert plain.is_valid(), plain.errors
    assert plain.answers()["order"] == ["clock", "rule", "question"]


@pytest.mark.parametrize(
    "post",
    [
        {"order": None},
        {"order": "clock,rule"},
        {"order": "clock,rule,question,question"},
        {"order": "clock,rule,other"},
        {"order": None, "order-clock": "1", "order-rule": "1", "order-question": "2"},
        {"order": None, "order-clock": "1", "order-rule": "2"},
        {"order": None, "order-clock": "one", "order-rule": "2", "order-question": "3"},
    ],
)
def test_an_order_holds_every_block_once(post: dict[str, Any]) -> None:
    assert list(form(**post).errors) == ["order"]


@pytest.mark.parametrize(
    ("name", "bad"),
    [
        ("token", "3"),
        ("token", "-1"),
        ("token", "1.5"),
        ("token", None),
        ("frame", "2"),
        ("frame", "-2"),
        ("frame", None),
        ("clock", "24:00:00"),
        ("clock", "9:00:00"),
        ("clock", "09:60:00"),
        ("clock", "09:00:00\n09:00:00"),
        ("clock", "０９:00:00"),
        ("most", "7"),
        ("most", "65"),
        ("most", ""),
        ("wait_ms", "nan"),
        ("wait_ms", "inf"),
        ("wait_ms", "-1"),
        ("several", ["a", "c"]),
        ("several", None),
    ],
)
def test_what_is_out_of_range_is_refused_at_its_field(name: str, bad: Any) -> None:
    assert list(form(**{name: bad}).errors) == [name]


@pytest.mark.parametrize(
    ("name", "edge"), [("most", "64"), ("frame", str(NONE_OF_THESE)), ("clock", "00:00:00")]
)
def test_edges_are_taken(name: str, edge: str) -> None:
    assert form(**{name: edge}).is_valid()


@pytest.mark.parametrize("bad", ["\ud800", "09:00:00\0", "x" * 200_000])
def test_text_that_cannot_be_stored_is_named_and_can_be_shown_again(bad: str) -> None:
    refused = form(clock=bad)
    assert "clock" in refused.errors
    shown = refused.as_p()
    shown.encode()
    assert "\0" not in shown
    assert len(shown) < 150_000


def test_a_bad_character_in_an_unknown_field_is_told_too() -> None:
    assert not form(**{"extra": "\udfff"}).is_valid()


def test_without_tokens_a_number_is_asked_for() -> None:
    class Bare(StepForm):
        token = TokenPick(())

    assert Bare(MultiValueDict({"token": ["37"]}), challenge={}, seen=Seen()).is_valid()
    assert not Bare(MultiValueDict({"token": ["9000"]}), challenge={}, seen=Seen()).is_valid()
    assert 'type="number"' in Bare(challenge={}, seen=Seen()).as_p()


def test_widgets_keep_what_was_chosen_and_escape_what_they_show() -> None:
    shown = form(clock="bad").as_p()
    assert 'name="token" value="1" checked' in shown
    assert 'name="frame" value="0" checked' in shown
    assert '<option value="1" selected>' in shown
    assert "<script>" not in shown
    assert " &lt;b&gt;" in shown


def test_a_place_in_a_text_is_one_of_its_characters_or_its_end() -> None:
    class Marked(StepForm):
        place = CharacterMark("a <b>\n")

    def marked(place: str) -> Marked:
        return Marked(MultiValueDict({"place": [place]}), challenge={}, seen=Seen())

    assert [place for place in range(-1, 9) if marked(str(place)).is_valid()] == list(range(7))
    assert list(marked("1.5").errors) == list(marked("").errors) == ["place"]
    shown = marked("6").as_p()
    assert shown.count('type="radio"') == 7
    assert 'value="6" checked' in shown
    assert "<b>" not in shown


def test_a_locked_place_is_told_by_its_surroundings() -> None:
    place = CharacterMark("It lasts 5.2 meters. Next")
    assert place.summary(19) == "It lasts 5.2 meters⟦.⟧ Next"
    assert place.summary(20) == "It lasts 5.2 meters.⟦␣⟧Next"
    assert place.summary(25).startswith("…") and place.summary(25).endswith("⟦end⟧")


def test_riding_is_told_by_document() -> None:
    field = RidingField({"cards": "Cards", "maps": "Old maps"}, (1, 2, 3))
    assert field.summary(["1:cards", "3:cards"]) == "Cards: 1, 3\nOld maps: –"
