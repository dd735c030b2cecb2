"""The worker's side: tokens at an even pace, each stamped as it is put."""

from __future__ import annotations

import json
import os
import sys
import time
from uuid import UUID

from labs.live.topics import Publisher


def main() -> None:
    job = json.loads(sys.argv[1])
    publisher = Publisher(os.environ["REDIS_URL"])
    topics = [publisher.topic(UUID(attempt), job["run"]) for attempt in job["attempts"]]
    apart_s = 1 / (job["rate"] * len(topics))
    began_s = due_s = time.monotonic()
    for number in range(job["events"]):
        for topic in topics:
            if (wait_s := due_s - time.monotonic()) > 0:
                time.sleep(wait_s)
            topic.put("tokens", {"ask": "bench", "text": f" token{number}", "at_ns": time.monotonic_ns()})
            due_s += apart_s
    spent_s = time.monotonic() - began_s
    assert all(topic.flush() for topic in topics)
    assert not publisher.dropped
    print(spent_s)


main()
