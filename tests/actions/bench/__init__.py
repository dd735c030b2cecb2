"""scripts/bench-regrade."""
