"""Why a table could not be read: a plain sentence for the person."""

from __future__ import annotations

from labs.text import Text


class Unreadable(Exception):
    """Nothing of the file is used. `text` says what is wrong, with its row where there is one."""

    def __init__(self, text: Text) -> None:
        super().__init__(str(text))
        self.text = text
