"""Predicted and actual `cache_n` over fifty random edits of a prompt, on the real server."""

from __future__ import annotations

import itertools
import random

import pytest

from labs.llama.process import EmbeddedServer
from labs.measure.plan import Ask, Plan
from labs.measure.prefix import expected_cache
from labs.steps import corpus
from labs.steps.prompts import with_documents
from tests.measure.driving import drive

pytestmark = pytest.mark.server

EDITS, DOCUMENTS, PLANS = 50, 3, 5
WORDS = 20  # of a document: each edit costs a prefill


def edited(rng: random.Random, kind: str, documents: list[str], question: str) -> tuple[list[str], str]:
    """One edit of the given kind, anywhere in its part."""
    changed = list(documents)
    match kind:
        case "front":
            changed[0] = f"{rng.choice(['Note', 'Look', 'Well'])} {rng.randint(10, 99)}: {documents[0]}"
        case "middle":
            words = changed[1].split()
            words[rng.randrange(len(words))] = rng.choice(["lamp", "river", "seven", "고양이"])
            changed[1] = " ".join(words)
        case "tail":
            question = f"{question} {rng.choice(['Please.', 'Why?', 'Be brief.', '짧게.'])}"
        case "swap":
            first, second = rng.sample(range(DOCUMENTS), 2)
            changed[first], changed[second] = changed[second], changed[first]
        case "clock":
            clock = f"지금 시각: {rng.randrange(24):02d}:{rng.randrange(60):02d}"
            changed[0] = f"{clock}\n{documents[0].rpartition(chr(10))[2]}"
    return changed, question


def test_the_cache_serves_what_the_common_prefix_predicts(llama_server: EmbeddedServer) -> None:
    rng = random.Random(20261129)
    documents = [" ".join(text.split()[:WORDS]) for text in corpus.documents(rng, DOCUMENTS)]
    question = corpus.question(rng, DOCUMENTS)
    kinds = ["front", "middle", "tail", "swap", "clock"] * (EDITS // 5)
    rng.shuffle(kinds)
    prompts = [with_documents(documents, question)]
    for kind in kinds:
        documents, question = edited(rng, kind, documents, question)
        prompts.append(with_documents(documents, question))

    checked = 0
    per_plan = EDITS // PLANS
    for start in range(0, EDITS, per_plan):
        # Each plan begins with the prompt that the one before ended with.
        asks = [Ask(f"p{i}", p, 1) for i, p in enumerate(prompts[start : start + per_plan + 1])]
        got = drive(llama_server.base_url, Plan(tuple(asks)))
        assert got.outcome == "recorded", got.detail
        recordings = [got.record[ask.key] for ask in asks]
        for before, now in itertools.pairwise(recordings):
            low, high = expected_cache(now.prompt_ids, before.prompt_ids, before.figures.predicted_n or 0)
            cache_n, prompt_n = now.figures.cache_n, now.figures.prompt_n
            assert cache_n is not None
            assert prompt_n is not None
            assert low <= cache_n <= high, f"{kinds[checked]}: {cache_n} is not in {low}..{high}"
            assert cache_n + prompt_n == now.n
            checked += 1
    assert checked == EDITS
