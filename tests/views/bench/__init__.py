"""scripts/bench-gradebook."""
