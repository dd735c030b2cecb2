"""A llama-server without a model, for tests and drills: its answers, cache, cancel and counters, and faults on demand.

`python -m tests.fakellama --port P` runs it; `tests.fakellama.process.FakeServer` starts and stops it. What it must
do like the real one is said once, in `test_contract.py`, which runs against both. Grades are never given on it.
"""
