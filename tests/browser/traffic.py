"""What a page has the browser fetch: addresses, and bytes as they came over the wire."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Page


@dataclass
class Fetched:
    path: str
    wire_bytes: int = 0  # head and compressed body
    from_cache: bool = False


class Traffic:
    """Of the page's own requests, from now on; not those of its workers."""

    def __init__(self, page: Page) -> None:
        self._fetched: dict[str, Fetched] = {}
        session = page.context.new_cdp_session(page)
        hears: dict[str, Callable[[Any], None]] = {
            "Network.requestWillBeSent": self._sent,
            "Network.requestServedFromCache": self._cached,
            "Network.responseReceived": self._answered,
            "Network.loadingFinished": self._finished,
        }
        for event, hear in hears.items():
            session.on(event, hear)
        session.send("Network.enable")

    @property
    def fetched(self) -> list[Fetched]:
        return list(self._fetched.values())

    @property
    def static(self) -> list[Fetched]:
        return [one for one in self.fetched if one.path.startswith("/static/")]

    @property
    def wire_bytes(self) -> int:
        return sum(one.wire_bytes for one in self.fetched)

    def _sent(self, event: Any) -> None:
        url = urlsplit(event["request"]["url"])
        if url.scheme.startswith("http"):
            self._fetched[event["requestId"]] = Fetched(url.path)

    def _cached(self, event: Any) -> None:
        if one := self._fetched.get(event["requestId"]):
            one.from_cache = True

    def _answered(self, event: Any) -> None:
        if one := self._fetched.get(event["requestId"]):
            one.from_cache |= event["response"]["fromDiskCache"]

    def _finished(self, event: Any) -> None:
        if (one := self._fetched.get(event["requestId"])) and not one.from_cache:
            one.wire_bytes = int(event["encodedDataLength"])
