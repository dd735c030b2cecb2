"""What is logged, as a process would write it."""

from __future__ import annotations

import io
import json
import logging

from labs.logs import JsonLines


class Lines(logging.StreamHandler):  # type: ignore[type-arg]
    """A handler in the root while the block runs; ours from DEBUG on."""

    def __init__(self) -> None:
        self._written = io.StringIO()
        super().__init__(self._written)
        self.setFormatter(JsonLines())

    def __enter__(self) -> Lines:
        self._ours = logging.getLogger("labs")
        self._level = self._ours.level
        self._ours.setLevel(logging.DEBUG)
        logging.getLogger().addHandler(self)
        return self

    def __exit__(self, *_: object) -> None:
        logging.getLogger().removeHandler(self)
        self._ours.setLevel(self._level)

    @property
    def text(self) -> str:
        return self._written.getvalue()

    @property
    def lines(self) -> list[dict[str, str]]:
        return [json.loads(line) for line in self.text.splitlines()]
