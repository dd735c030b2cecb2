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
    rounded = exact.quantize(HUNDREDTH, ROUND_HALF_UP)
    whole = rounded.to_integral_value()
    return whole if rounded == whole else rounded.normalize()
