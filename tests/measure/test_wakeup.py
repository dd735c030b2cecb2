"""The process that reads: what it asks for, and that it leaves things as they were."""

from __future__ import annotations

import gc
import os
import sys
import threading
import weakref
from contextlib import ExitStack

import pytest

from labs.measure.wakeup import MANY_NEW, SWITCH_S, ask_for_short_slice, no_collections, wake_early


class Knot:
    """What only the collector takes away."""

    def __init__(self) -> None:
        self.me = self


def in_a_thread(work: object) -> None:
    """The wish holds for a thread and its children; pytest's own is left alone."""
    thread = threading.Thread(target=work)  # type: ignore[arg-type]
    thread.start()
    thread.join()


def test_a_short_slice_keeps_the_niceness() -> None:
    found: list[int] = []

    def work() -> None:
        os.nice(3)
        ask_for_short_slice()
        found.append(os.getpriority(os.PRIO_PROCESS, 0))

    before = os.getpriority(os.PRIO_PROCESS, 0)
    in_a_thread(work)
    # On Linux niceness is a thread's own; elsewhere it is the process'.
    assert found == [min(before + 3, 19)]


def test_waking_early_never_makes_the_switch_interval_longer() -> None:
    before = sys.getswitchinterval()
    try:
        sys.setswitchinterval(SWITCH_S / 10)
        in_a_thread(wake_early)
        assert sys.getswitchinterval() == pytest.approx(SWITCH_S / 10, rel=0.05)
        sys.setswitchinterval(0.005)
        in_a_thread(wake_early)
        assert sys.getswitchinterval() == pytest.approx(SWITCH_S, rel=0.05)
    finally:
        sys.setswitchinterval(before)


def test_the_collector_is_on_again_also_after_a_crash() -> None:
    assert gc.isenabled()
    with pytest.raises(RuntimeError), no_collections():
        assert not gc.isenabled()
        raise RuntimeError
    assert gc.isenabled()


def test_the_collector_is_off_while_any_run_of_the_process_goes_on() -> None:
    with ExitStack() as first, ExitStack() as second:
        first.enter_context(no_collections())
        second.enter_context(no_collections())
        first.close()
        assert not gc.isenabled(), "the second is still being measured"
        first.enter_context(no_collections())
        second.close()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_cycles_do_not_pile_up_where_a_run_always_goes_on() -> None:
    gc.collect()
    with no_collections():  # of another thread, for ever
        knots = []
        for _ in range(3):
            with no_collections():
                for _ in range(MANY_NEW * 2 // 3):
                    knot = Knot()
                knots.append(weakref.ref(knot))
                del knot
        assert knots[0]() is None and knots[2]() is not None


def test_what_was_in_use_at_one_round_is_found_at_the_next() -> None:
    gc.collect()
    with no_collections():  # of another thread, for ever
        in_use: Knot | None = Knot()
        found = weakref.ref(in_use)
        for _ in range(2):
            with no_collections():
                new = [Knot() for _ in range(MANY_NEW + 1)]
            del new
            in_use = None
        assert found() is None


def test_who_had_the_collector_off_keeps_it_off() -> None:
    gc.disable()
    try:
        with no_collections():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
