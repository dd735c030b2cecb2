"""The lab line has the right number of tokens for tokenizers of very different grain."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Callable

import pytest

from labs.measure.draw import NoLabLine, draw_lab_line


def by_letter(line: str) -> int:
    return len(line.replace(" ", ""))


def by_pair(line: str) -> int:
    return sum((len(group) + 1) // 2 for group in line.split()) + 1


def by_group(line: str) -> int:
    return len(line.split()) + 1


@pytest.mark.parametrize("count", [by_letter, by_pair, by_group])
@pytest.mark.parametrize("tokens", [4, 6, 9])
def test_the_count_is_exact(count: Callable[[str], int], tokens: int) -> None:
    for seed in range(30):
        line = draw_lab_line(random.Random(seed), tokens, count)
        assert count(line) == tokens
        assert re.fullmatch(r"[a-z]{1,3}( [a-z]{1,3})*\n", line)


def test_lines_differ_and_the_first_letter_from_the_last_line() -> None:
    rng = random.Random(7)
    lines = [draw_lab_line(rng, 6, by_pair)]
    for _ in range(200):
        lines.append(draw_lab_line(rng, 6, by_pair, unlike=lines[-1]))
    assert all(a[0] != b[0] for a, b in itertools.pairwise(lines))
    assert len(set(lines)) > 190


def test_it_gives_up() -> None:
    counted = []

    def odd(line: str) -> int:
        counted.append(line)
        return 5 if len(counted) % 2 else 7

    with pytest.raises(NoLabLine):
        draw_lab_line(random.Random(1), 6, odd)
    assert len(counted) < 100
