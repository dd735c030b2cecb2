"""The token diff and the waterfall on an attempt's page: in words, in tables, and as text nodes."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from labs.measure.plan import Ask, Get, Plan
from labs.measure.prompt_pieces import pack_pieces
from labs.measure.recording import Figures, Recording, RunRecord
from labs.models import Attempt, Course, Round, StoredRecording
from labs.views.figures.diff import ShownDiff, run_diffs
from labs.views.figures.waterfall import run_waterfall
from tests.views.pages import Page
from tests.views.rows import STEP


def asked(key: str, pieces: list[bytes], cache_n: int = 0) -> Recording:
    ids = tuple(hash(piece) & 0xFFFF for piece in pieces)
    figures = Figures("done", cache_n=cache_n, prompt_n=len(ids) - cache_n)
    return Recording(key, "ask", figures=figures, prompt_ids=ids, prompt_pieces=pack_pieces(pieces))


def shown(
    *items: Ask | Get, predicted: dict[str, int] | None = None, **pieces: list[bytes]
) -> list[ShownDiff]:
    record = RunRecord({key: asked(key, row, cache_n=2) for key, row in pieces.items()}, head_tokens=0)
    return list(run_diffs(Plan(items), record, {"a": "First"}, predicted or {}))


def ask(key: str, slot: int = 0, *, cache: bool = True) -> Ask:
    return Ask(key, (), 4, slot=slot, cache=cache)


TEN, NINE = [b"It is ", b"1", b"0"], [b"It is ", b"0", b"9"]
GAK, GAN = ([b"x", *(bytes([byte]) for byte in syllable.encode())] for syllable in "각간")


def test_pairs_are_those_that_met_in_a_slot() -> None:
    assert [pair.title_after for pair in shown(ask("a"), ask("b", 1), ask("c"), a=TEN, b=TEN, c=NINE)] == [
        "c"
    ]
    assert shown(ask("a"), ask("b", cache=False), a=TEN, b=NINE) == []
    assert shown(ask("a"), Get("e", "erase", slot=0), ask("b"), a=TEN, b=NINE) == []
    assert len(shown(ask("a"), Get("e", "erase", slot=1), ask("b"), a=TEN, b=NINE)) == 1


def test_marks_stand_in_front_of_their_token() -> None:
    (pair,) = shown(ask("a"), ask("b"), a=TEN, b=NINE, predicted={"b": 3})
    assert [(part.kind, part.text or "".join(box.text for box in part.boxes)) for part in pair.after] == [
        ("same", "It is "),
        ("mark", "prefix ends: 1"),
        ("rest", "0"),
        ("mark", "cache_n: 2"),
        ("rest", "9"),
        ("mark", "your prediction: 3"),
    ]
    assert [part.kind for part in pair.before] == ["same", "rest"]


def test_a_prefix_inside_a_syllable_is_said_and_drawn_at_its_tick() -> None:
    (pair,) = shown(ask("a"), ask("b"), a=GAK, b=GAN)
    assert pair.sentences == [
        "The first 3 of 4 tokens are the same as before.",
        "The prefix ends inside the syllable 간, after token 2 of 3.",
    ]
    split = next(part for part in pair.after if part.kind == "split")
    assert [box.ticks for box in split.boxes] == [["in", "end", ""]]
    (emoji,) = shown(ask("a"), ask("b"), a=[b"\xf0\x9f", b"\x98\x80"], b=[b"\xf0\x9f", b"\x98\x81"])
    assert emoji.sentences[1] == "The prefix ends inside the character 😁, after token 1 of 2."


def test_the_page_says_it(attempt: Attempt, at_owner: Client) -> None:
    text = at_owner.get(reverse("attempt", args=[attempt.pk])).content.decode()
    assert "your prediction: 16" in text
    assert "Both prompts are the same, all" in text
    assert len(Page(text).having(**{"class": "toks"})) == 2 * 3


def test_a_piece_of_a_prompt_is_no_tag(attempt: Attempt, at_owner: Client) -> None:
    for row in StoredRecording.objects.all():
        row.data["prompt_pieces"] = pack_pieces([b"<img src=x>"] * len(row.data["prompt_ids"]))
        row.save()
    text = at_owner.get(reverse("attempt", args=[attempt.pk])).content.decode()
    assert "&lt;img src=x&gt;" in text and "<img" not in text


def test_an_older_recording_has_no_diff_and_no_fault(attempt: Attempt, at_owner: Client) -> None:
    for row in StoredRecording.objects.all():
        del row.data["prompt_pieces"], row.data["figures"]["connect_us"]
        row.save()
    text = at_owner.get(reverse("attempt", args=[attempt.pk])).content.decode()
    assert "Token diff" not in text and "Waterfall" in text


SEEN = Figures(
    "done", connect_us=300, headers_us=1_000, first_token_us=705_000, prompt_ms=700.0, end_us=2_000_000
)
NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


def test_the_waterfall_in_words_and_cells() -> None:
    slow = Recording("slow", "ask", figures=SEEN)
    quick = replace(slow, figures=replace(SEEN, first_token_us=9_000, prompt_ms=6.0, end_us=20_000))
    fall = run_waterfall([("Slow", slow), ("Quick", quick)], NOON, NOON + timedelta(seconds=3), 450_000)
    assert fall is not None
    assert fall.queue == "3,000\u00a0ms" and fall.lease == "450\u00a0ms"
    assert "705\u00a0ms (Slow): 1.0\u00a0ms waiting in the server, 700\u00a0ms prefill" in fall.sentence
    assert [lane.cells[2] for lane in fall.lanes] == ["700\u00a0ms", "6.0\u00a0ms"]
    assert all(bar.x + bar.width <= 1003 for lane in fall.lanes for bar in lane.bars)


def test_without_an_ask_there_is_no_waterfall() -> None:
    assert run_waterfall([], NOON, NOON, None) is None


def test_a_run_waits_from_the_moment_its_answers_were_locked(
    owner: User, course: Course, attempt: Attempt, at_owner: Client
) -> None:
    run = attempt.runs.first()
    assert run is not None
    Round.objects.update(locked_at=run.started_at - timedelta(seconds=7))
    text = at_owner.get(reverse("step", args=[course.slug, STEP])).content.decode()
    assert "7,000\u00a0ms" in text
