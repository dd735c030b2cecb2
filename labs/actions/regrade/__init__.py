"""Regrading: build a set of new verdicts beside the grades that count, look at it, then apply or cancel it."""
