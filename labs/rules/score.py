"""What points count after a lateness, and on the scale that the course gives the step."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal

HUNDREDTH = Decimal("0.01")


def weight(points: int, late_percent: int) -> int:
    """Hundredths of a point on the step's own scale: which of two attempts counts. Exact."""
    return points * (100 - late_percent)


def counted(points: int, late_percent: int, most: int, worth: int) -> Decimal:
    """`points` of `most`, less `late_percent` of themselves, where the course counts the step as `worth`.

    Rounded half up to hundredths, and whole where it is whole: Decimal("12"), Decimal("13.5").
    """
    exact = Decimal(weight(points, late_percent) * worth) / (100 * most)
    return shortest(exact.quantize(HUNDREDTH, ROUND_HALF_UP))


def shortest(points: Decimal) -> Decimal:
    """The same number, written without zeros that say nothing: '14' and not '14.0'."""
    whole = points.to_integral_value()
    return whole if points == whole else points.normalize()
