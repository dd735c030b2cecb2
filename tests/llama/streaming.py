"""What the stream tests share."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from labs.llama.client import LlamaClient
from labs.llama.stream import ChatStream, Limits
from tests.llama import sse_cases as case
from tests.llama.byte_server import LIMIT_S, ByteServer, Peer, chunked

PATIENT = Limits(first_token_s=10, idle_s=10, total_s=20)
BODY = {"messages": [{"role": "user", "content": "안녕"}], "id_slot": 1, "max_tokens": 4}
TOKEN = chunked(case.event(case.token("A")))

Script = Callable[[Peer], None]


@contextmanager
def opened(script: Script, limits: Limits = PATIENT) -> Iterator[tuple[ByteServer, ChatStream]]:
    """A scripted server and a stream of it whose headers have come."""
    with (
        ByteServer(script) as server,
        LlamaClient(server.url) as client,
        client.chat(BODY, limits) as stream,
    ):
        yield server, stream


def wait_until(condition: Callable[[], bool], limit_s: float = LIMIT_S, poll_s: float = 0.001) -> None:
    deadline = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(poll_s)
