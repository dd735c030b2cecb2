"""A run that a CPU quota stopped: told by the kernel's counters, kept with the run, repeated and not graded."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from labs.grading.sane import alone, undisturbed
from labs.llama.client import LlamaClient
from labs.llama.stream import Limits
from labs.measure.control import Control
from labs.measure.drive import Driver
from labs.measure.outcome import Drive
from labs.measure.plan import Ask, Plan
from labs.measure.quota import Quota, groups_near, stopped_share
from tests.measure.scripted import ScriptedLlama

STAT = "nr_periods {0}\nnr_throttled {0}\nthrottled_usec {1}\n"
PLAN = Plan((Ask("one", ({"role": "user", "content": "hello"},), 8),))


class Cgroup:
    def __init__(self, folder: Path) -> None:
        self.root, self.own = folder / "cgroup", folder / "own"
        (self.root / "box").mkdir(parents=True)
        self.own.write_text("0::/box\n")
        self.say(5, 1000)

    def say(self, periods: int, us: int) -> None:
        (self.root / "box/cpu.stat").write_text(STAT.format(periods, us))

    def drive(self, during: Callable[[int], None]) -> Drive:
        with ScriptedLlama() as server, LlamaClient(server.url) as client:
            server.before_chat = during
            quota = Quota({"worker": self.own, "server": self.own.parent / "gone"}, self.root)
            driver = Driver(
                client, emit=lambda kind, data: None, control=Control(), limits=Limits(5, 5, 5), quota=quota
            )
            return driver.run(PLAN, random.Random(1))


@pytest.fixture
def cgroup(tmp_path: Path) -> Cgroup:
    return Cgroup(tmp_path)


def test_a_run_that_was_stopped_for_long_proves_nothing(cgroup: Cgroup) -> None:
    drive = cgroup.drive(lambda number: cgroup.say(9, 60_000_000))
    assert (drive.outcome, drive.reason) == ("disturbed", "slot_disturbed")
    assert "CPU quota" in drive.detail
    assert drive.record.throttled["worker"] == {"periods": 4, "stopped_us": 59_999_000}
    assert "server" not in drive.record.throttled, "what the kernel does not tell is not made up"
    fault = undisturbed(drive.record)
    assert fault is not None
    assert fault.disturbed
    assert alone(drive.record) is None, "what the server counted still holds"


def test_a_hair_is_kept_and_disturbs_nothing(cgroup: Cgroup) -> None:
    drive = cgroup.drive(lambda number: cgroup.say(6, 1100))
    assert drive.outcome == "recorded"
    assert drive.record.throttled["worker"] == {"periods": 1, "stopped_us": 100}
    assert 0 < stopped_share(drive.record.throttled) < 0.05
    assert undisturbed(drive.record) is None


def test_where_nothing_is_known_nothing_is_held_against_it(cgroup: Cgroup) -> None:
    (cgroup.root / "box/cpu.stat").unlink()
    drive = cgroup.drive(lambda number: None)
    assert drive.outcome == "recorded"
    assert set(drive.record.throttled) == {"run_us", "cores"}
    assert undisturbed(replace(drive.record, throttled={})) is None


def test_a_server_in_our_own_group_is_watched_once() -> None:
    with ScriptedLlama() as server:
        assert set(groups_near(server.url)) == {"worker"}
    assert set(groups_near("http://192.0.2.1:8080")) == {"worker"}


def test_the_stops_of_all_cores_are_added_up_by_the_kernel() -> None:
    """Four cores that stood still for 2 % of the run say 8 %."""
    said = {"run_us": 1_000_000, "cores": 4, "worker": {"periods": 8, "stopped_us": 80_000}}
    assert stopped_share(said) == 0.02
    assert stopped_share({**said, "cores": None}) == 0.08
