"""What a real web process says of its sockets and of the stream, at /metrics."""

from __future__ import annotations

from collections.abc import Callable

import httpx
from django.contrib.auth.models import User
from django.test import Client
from prometheus_client.parser import text_string_to_metric_families

from labs.metrics import share
from labs.models import Attempt
from tests.live.servers import Valkey
from tests.live.sockets import Site, cookie_of
from tests.live.waits import until

LogIn = Callable[[User], Client]


def test_open_sockets_and_the_stream_s_lag(
    site: Site, valkey: Valkey, attempt: Attempt, owner: User, log_in: LogIn
) -> None:
    staff = log_in(User.objects.create_user("staff", is_staff=True))
    web = httpx.Client(base_url=f"http://127.0.0.1:{site.daphne.port}", headers=cookie_of(staff))

    def figure(name: str, **labels: str) -> float:
        answer = web.get("/metrics")
        assert answer.status_code == 200
        return sum(
            sample.value
            for family in text_string_to_metric_families(answer.text)
            for sample in family.samples
            if sample.name == name and labels.items() <= sample.labels.items()
        )

    board = f"/ws/courses/{attempt.course.slug}/boards/voice/en/"
    with web:
        with site.open(log_in(owner), attempt.pk), site.at(log_in(owner), board):
            until(lambda: figure("labhub_open_sockets", kind="attempt") == 1)
            until(lambda: figure("labhub_open_sockets", kind="board") == 1)
            until(lambda: figure("labhub_stream_lag_seconds_count") > 0)
            assert figure("labhub_stream_lag_seconds_sum") >= 0
        until(lambda: figure("labhub_open_sockets") == 0)
        with valkey.client() as client:
            until(lambda: share.read(client))
            assert [said.role for said in share.read(client)] == ["web"]
