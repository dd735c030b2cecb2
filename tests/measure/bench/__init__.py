"""The stopwatch's own accuracy: `scripts/bench-measure` (docs/bench-measure.md)."""
