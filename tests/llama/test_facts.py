"""What the server says of itself, in the shapes of this build and of older ones."""

import pytest

from labs.llama.errors import BadFrame
from labs.llama.facts import Metrics, Slot, Token, parse_metrics, parse_props, parse_slot, parse_token

FRESH = {"id": 1, "n_ctx": 4096, "speculative": False, "is_processing": False}
USED = {**FRESH, "is_processing": True, "id_task": 3, "n_prompt_tokens": 34, "n_prompt_tokens_processed": 32}


@pytest.mark.parametrize(
    ("row", "slot"),
    [
        (FRESH, Slot(1, 4096, False)),
        ({**USED, "next_token": [{"n_decoded": 7}]}, Slot(1, 4096, True, 3, 34, 32, 7)),
        ({**USED, "next_token": {"n_decoded": 7}}, Slot(1, 4096, True, 3, 34, 32, 7)),
        ({**USED, "next_token": []}, Slot(1, 4096, True, 3, 34, 32, None)),
        ({**FRESH, "id_task": -1}, Slot(1, 4096, False)),
    ],
)
def test_slot(row: dict[str, object], slot: Slot) -> None:
    assert parse_slot(row) == slot


@pytest.mark.parametrize("row", [None, [], {}, {"id": 1}, {"id": "1", "is_processing": True}])
def test_not_a_slot(row: object) -> None:
    with pytest.raises(BadFrame):
        parse_slot(row)


def test_props_give_one_slots_share_of_the_context() -> None:
    said = {
        "default_generation_settings": {"n_ctx": 4096},
        "total_slots": 2,
        "model_path": "/m.gguf",
        "build_info": "b1",
        "chat_template": "{{ x }}",
    }
    props = parse_props(said)
    assert (props.n_ctx, props.total_slots, props.build) == (4096, 2, "b1")
    assert props.raw is said


@pytest.mark.parametrize("said", [{}, {"total_slots": 2}, {"default_generation_settings": {"n_ctx": 1}}])
def test_not_props(said: dict[str, object]) -> None:
    with pytest.raises(BadFrame):
        parse_props(said)


METRICS = """\
# HELP llamacpp:prompt_tokens_total Number of prompt tokens processed, excluding cached tokens
# TYPE llamacpp:prompt_tokens_total counter
llamacpp:prompt_tokens_total 63
llamacpp:prompt_tokens_cached_total{model="x"} 31
llamacpp:tokens_predicted_total 1.2e+06
llamacpp:prompt_tokens_seconds 219.4
llamacpp:requests_processing 1
llamacpp:requests_deferred 0
"""


def test_metrics() -> None:
    assert parse_metrics(METRICS) == Metrics(63, 31, 1_200_000, 1, 0)


def test_a_missing_metric_is_not_zero() -> None:
    with pytest.raises(BadFrame, match="cached_tokens"):
        parse_metrics("\n".join(line for line in METRICS.splitlines() if "cached" not in line))


@pytest.mark.parametrize("value", ["", "NaN", "+Inf", "x"])
def test_a_metric_is_a_number(value: str) -> None:
    with pytest.raises(BadFrame):
        parse_metrics(METRICS.replace("63", value))


def test_token_pieces_are_bytes() -> None:
    assert parse_token({"id": 183, "piece": [236]}) == Token(183, b"\xec")
    assert parse_token({"id": 5, "piece": " 안"}) == Token(5, " 안".encode())


@pytest.mark.parametrize(
    "row", [5, {"id": 1}, {"piece": "x"}, {"id": 1, "piece": [256]}, {"id": 1, "piece": ["x"]}]
)
def test_not_a_token(row: object) -> None:
    with pytest.raises(BadFrame):
        parse_token(row)
