"""What a server was started with, as far as it answers for it. Asking changes nothing there."""

from __future__ import annotations

from collections.abc import Callable

from labs.llama.client import LlamaClient
from labs.llama.errors import LlamaError, NotSupported, Rejected

_HELLO = [{"role": "user", "content": "hello"}]


def abilities(client: LlamaClient) -> dict[str, bool]:
    """`slots`: who is in which slot; `metrics`: its counters; `erase`: a slot can be emptied; `tokens`: a prompt can
    be counted before it is sent. What cannot be told now is left out."""
    asked: dict[str, Callable[[], object]] = {
        "slots": client.slots,
        "metrics": lambda: client.get("/metrics"),
        "erase": lambda: _ask_for_no_action(client),
        "tokens": lambda: client.prompt_tokens(_HELLO),
    }
    found = {}
    for name, ask in asked.items():
        try:
            ask()
        except NotSupported:
            found[name] = False
        except LlamaError:
            continue
        else:
            found[name] = True
    return found


def _ask_for_no_action(client: LlamaClient) -> None:
    """Without `--slot-save-path` any action on a slot is 'not supported', with it a wrong one is a bad request."""
    try:
        client.post_object("/slots/0?action=none", {})
    except Rejected as error:
        if error.status != 400:
            raise
