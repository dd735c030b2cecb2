"""In which order a gradebook is read, and whose lines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal

from labs.gradebook.book import Gradebook, Line

# What a gradebook can be ordered by, beside its steps and the total.
ORDERS: Mapping[str, Callable[[Line], tuple[str, ...]]] = {
    "name": lambda line: (line.called.casefold(), line.user.username),
    "number": lambda line: (line.enrolment.number,),
    "login": lambda line: (line.user.username,),
}


def ordered(book: Gradebook, by: str) -> list[Line]:
    """`by` is a key of ORDERS, 'total' or a step, with '-' in front for the other way round; equal ones stay by name.

    Without a grade comes last, whichever way. An unknown `by` is by name.
    """
    key, is_down = by.removeprefix("-"), by.startswith("-")
    if key in ORDERS:
        return sorted(book.lines, key=ORDERS[key], reverse=is_down)
    if key == "total":
        return _by(book.lines, lambda line: line.total, is_down)
    place = next((n for n, column in enumerate(book.columns) if column.step.key == key), None)
    if place is None:
        return list(book.lines)
    return _by(book.lines, lambda line: line.cells[place].points, is_down)


def _by(lines: Sequence[Line], value: Callable[[Line], Decimal | None], is_down: bool) -> list[Line]:
    known = [(found, line) for line in lines if (found := value(line)) is not None]
    known.sort(key=lambda pair: -pair[0] if is_down else pair[0])
    return [line for _found, line in known] + [line for line in lines if value(line) is None]


FILTERS: Mapping[str, Callable[[Line], bool]] = {
    "open": lambda line: any(cell.open_points for cell in line.cells),
    "given": lambda line: any(cell.is_given for cell in line.cells),
    "late": lambda line: any(cell.is_late for cell in line.cells),
    "missing": lambda line: any(cell.points is None for cell in line.cells),
    "nothing": lambda line: all(cell.points is None for cell in line.cells),
}


def chosen(lines: Iterable[Line], show: str, words: str) -> list[Line]:
    """Students who take part, or with `show` 'left' those who left; whose name, login or number has all `words`."""
    is_wanted = FILTERS.get(show)
    wanted = words.casefold().split()
    found = []
    for line in lines:
        if (line.enrolment.left_at is not None) != (show == "left"):
            continue
        if is_wanted is not None and not is_wanted(line):
            continue
        text = f"{line.name} {line.user.username} {line.user.email} {line.enrolment.number}".casefold()
        if all(word in text for word in wanted):
            found.append(line)
    return found
