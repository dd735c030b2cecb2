"""`scripts/load`: a class of hundreds on the topology of `scripts/topology`, and what it costs."""
