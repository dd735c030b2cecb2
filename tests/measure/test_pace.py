"""Until when a cut slot must be free, and how fast an endpoint is known to read."""

from __future__ import annotations

from labs.measure.pace import Pace, with_speed
from labs.measure.recording import Figures, Recording, ServerFacts

FACTS = ServerFacts(batch=128, prompt_ms_per_token=3.0)


def read(prompt_n: int | None, prompt_ms: float | None, *, final: bool = True) -> Figures:
    return Figures(end="done", prompt_n=prompt_n, prompt_ms=prompt_ms, timings_final=final)


def test_a_cut_prefill_has_one_batch_at_the_endpoints_known_speed_until_this_lease_has_its_own() -> None:
    pace = Pace(FACTS)
    assert pace.allowance_us(in_decode=False, n=300) == 2_000_000 + 128 * 3_000
    assert pace.allowance_us(in_decode=False, n=40) == 2_000_000 + 40 * 3_000
    assert pace.allowance_us(in_decode=True, n=300) == 1_000_000
    pace.learn(read(10, 900.0))  # too short to measure
    pace.learn(read(100, 900.0, final=False))
    assert pace.allowance_us(in_decode=False, n=300) == 2_000_000 + 128 * 3_000
    pace.learn(read(100, 200.0))
    assert pace.allowance_us(in_decode=False, n=300) == 2_000_000 + 128 * 2_000
    pace.learn(read(100, 600.0))
    pace.learn(read(100, 200.0))
    assert pace.allowance_us(in_decode=False, n=300) == 2_000_000 + 128 * 6_000, "the slowest seen"


def test_where_nothing_is_known_a_batch_is_the_servers_own_default() -> None:
    assert Pace(ServerFacts()).allowance_us(in_decode=False, n=3_000) == 2_000_000 + 2048 * 4_500


def test_the_known_speed_is_the_fastest_fair_prompt() -> None:
    asks = [
        read(200, 800.0),
        read(100, 500.0),
        read(63, 1.0),  # too short
        read(None, None),
        read(300, 1.0, final=False),  # cut
    ]
    recordings = [Recording(str(i), "ask", figures=figures) for i, figures in enumerate(asks)]
    assert with_speed(ServerFacts(), recordings).prompt_ms_per_token == 4.0
    assert with_speed(FACTS, recordings).prompt_ms_per_token == 3.0
    assert with_speed(FACTS, []) == FACTS
    assert with_speed(ServerFacts(), []) == ServerFacts()
