"""`voice-llm up | status | health | props | slots | log | down`: the lab's llama-server from a terminal.

Needs no Django. With LABHUB_ENDPOINT_URL or --url the reading verbs speak to that server instead.
Exit codes: 0 as asked, 1 not (nothing there, not ready, cannot start), 2 wrong usage.
"""

import argparse
import gettext
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path

from labs.llama.client import GET_LIMIT_S, LlamaClient
from labs.llama.detached import Detached
from labs.llama.errors import LlamaError, NotSupported, Unreachable
from labs.llama.facts import HealthState
from labs.llama.process import free_port, tail

_USUAL_PORT = 8080


@cache
def _catalog() -> gettext.NullTranslations:
    """By LANGUAGE, LC_ALL, LC_MESSAGES and LANG; English where there is no catalog."""
    return gettext.translation("django", Path(__file__).parent / "locale", fallback=True)


def _(msgid: str) -> str:
    return _catalog().gettext(msgid)


def main(argv: list[str] | None = None) -> int:
    got, flags = _parser().parse_known_args(argv)
    if flags and got.verb != "up":
        print(_("Unknown: %(words)s") % {"words": " ".join(flags)}, file=sys.stderr)
        return 2
    verb: Callable[[argparse.Namespace, list[str]], int] = _VERBS[got.verb]
    try:
        return verb(got, flags)
    except LlamaError as exc:
        print(str(exc), file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="voice-llm",
        description=_("Start, ask and stop the lab's llama-server."),
        epilog=_("Further flags of `up` go to the server: --model, --threads, --slots, --ctx, --batch, ..."),
    )
    parser.add_argument("verb", choices=list(_VERBS))
    parser.add_argument("--dir", type=Path, default=Path("voice-llm"), help=_("where its files lie"))
    parser.add_argument("--url", default=os.environ.get("LABHUB_ENDPOINT_URL") or None)
    parser.add_argument("--port", type=int, help=_("for `up`; 8080 where it is free"))
    parser.add_argument("-n", "--lines", type=int, default=20, help=_("for `log`"))
    return parser


def _up(got: argparse.Namespace, flags: list[str]) -> int:
    if got.url:
        print(_("A lab server is set already: %(url)s. Nothing was started.") % {"url": got.url})
        return 0
    own = Detached(got.dir)
    with own.busy():
        if server := own.running():
            print(_("It is up already: %(url)s (process %(pid)d).") % {"url": server.url, "pid": server.pid})
            return 0
        if own.recorded():
            print(_("The last server ended without `down`; starting a new one."))
        print(_("Starting llama-server and loading the model ..."), flush=True)
        server = own.start(got.port or _free_port(), *flags)
    print(_("It is up: %(url)s (process %(pid)d).") % {"url": server.url, "pid": server.pid})
    got.url = server.url
    for verb in (_health, _props, _slots):
        verb(got, [])
    print(_("Its log: %(path)s") % {"path": own.log_path})
    return 0


def _status(got: argparse.Namespace, flags: list[str]) -> int:
    if got.url:
        return _health(got, flags)
    own = Detached(got.dir)
    if server := own.running():
        print(_("It is up: %(url)s (process %(pid)d).") % {"url": server.url, "pid": server.pid})
        return 0
    print(_("It ended without `down`.") if own.recorded() else _("It is not up."))
    return 1


def _down(got: argparse.Namespace, flags: list[str]) -> int:
    own = Detached(got.dir)
    with own.busy():
        stopped = own.stop()
    print(_("It was stopped.") if stopped else _("It is not up."))
    return 0 if stopped else 1


def _health(got: argparse.Namespace, flags: list[str]) -> int:
    with _client(got) as client:
        health = client.health()
        with suppress(Unreachable):  # the sentence below says so
            _save(got.dir / "health.json", client.exchange("GET", "/health", None, GET_LIMIT_S)[1])
    print(_health_words()[health.state] + (f" ({health.detail})" if health.detail else ""))
    return 0 if health.state == "ok" else 1


def _props(got: argparse.Namespace, flags: list[str]) -> int:
    with _client(got) as client:
        body = client.get("/props")
        _save(got.dir / "props.json", body)
        props = client.props()
    print(
        _("%(slots)d slots, %(n_ctx)d tokens of context each; build %(build)s; model %(model)s")
        % {
            "slots": props.total_slots,
            "n_ctx": props.n_ctx,
            "build": props.build,
            "model": Path(props.model_path).name,
        }
    )
    return 0


def _slots(got: argparse.Namespace, flags: list[str]) -> int:
    with _client(got) as client:
        try:
            _save(got.dir / "slots.json", client.get("/slots"))
            rows = client.slots()
        except NotSupported:
            print(_("This server was started without /slots."))
            return 1
    for row in rows:
        words = {"id": row.id, "n": row.n_prompt_tokens or 0, "decoded": row.n_decoded or 0}
        if row.is_processing:
            print(_("slot %(id)d: busy, holds %(n)d tokens, %(decoded)d written so far") % words)
        else:
            print(_("slot %(id)d: idle, holds %(n)d tokens") % words)
    return 0


def _log(got: argparse.Namespace, flags: list[str]) -> int:
    path = Detached(got.dir).log_path
    if got.url or not path.exists():
        print(_("There is no log to read here."), file=sys.stderr)
        return 1
    print(tail(path, got.lines))
    return 0


def _client(got: argparse.Namespace) -> LlamaClient:
    if got.url:
        return LlamaClient(got.url, os.environ.get("LABHUB_ENDPOINT_KEY") or None)
    server = Detached(got.dir).running()
    if server is None:
        raise Unreachable(_("It is not up. Start it with `voice-llm up`."))
    return LlamaClient(server.url, os.environ.get("LLAMA_API_KEY"))


def _save(path: Path, body: bytes) -> None:
    """As it came; only a reader's line end is added."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(body.rstrip(b"\n") + b"\n")
    print(_("saved: %(path)s") % {"path": path})


def _free_port() -> int:
    try:
        return free_port(port=_USUAL_PORT)
    except OSError:
        return free_port()


def _health_words() -> dict[HealthState, str]:
    return {
        "ok": _("It is well and ready."),
        "loading": _("It is loading its model: wait a moment. That is not a failure."),
        "not_llama_server": _("Something answers there, but it is not a llama-server."),
        "unhealthy": _("It is there, but it does not work."),
        "down": _("Nobody answers there."),
    }


_VERBS: dict[str, Callable[[argparse.Namespace, list[str]], int]] = {
    "up": _up,
    "status": _status,
    "health": _health,
    "props": _props,
    "slots": _slots,
    "log": _log,
    "down": _down,
}


if __name__ == "__main__":
    sys.exit(main())
