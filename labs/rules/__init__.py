"""When a step may be run and what running late costs. Pure: a window, a moment, an answer; no table, no web."""
