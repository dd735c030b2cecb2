"""What a probe found, in plain words. The rows keep codes (labs.actions.probe, labs.llama.health)."""

from __future__ import annotations

from collections.abc import Mapping

from labs.actions.probe import ADDRESS, STRANGER
from labs.models import Endpoint
from labs.text import N_, Text

FOUND: Mapping[str, Text] = {
    "": N_("It has not been asked yet."),
    "ok": N_("It answers, and it is a llama-server."),
    "loading": N_("It answers, and is still loading its model."),
    "down": N_("It does not answer."),
    "unreachable": N_(
        "Nothing answers there: a wrong host or port, a server that does not run, or a firewall between."
    ),
    "timeout": N_("It takes the connection, and then does not answer."),
    "unauthorised": N_("It is there, and wants another key than the one entered here."),
    "certificate": N_(
        "Its certificate is not signed by anybody that is trusted here. Enter its authority below."
    ),
    f"{STRANGER} redirect": N_(
        "The address redirects to another one. That is not followed, because the key would go with it: enter the"
        " address that it leads to."
    ),
    f"{ADDRESS} local": N_("Local and private addresses are switched off in this site's settings."),
    f"{ADDRESS} metadata": N_("This is the address of a cloud's metadata. It is never called."),
    f"{ADDRESS} link_local": N_("Link-local addresses are never called."),
    f"{ADDRESS} not_a_host": N_("This address does not belong to one host."),
    f"{ADDRESS} unknown_host": N_("No host has this name."),
}
OTHER_STRANGER = N_("Something answers there, and it is not a llama-server.")


def why_words(endpoint: Endpoint) -> Text | str:
    """What an instructor reads beside a server's state; empty where the state says it all."""
    if endpoint.state == Endpoint.State.PAUSED:
        return endpoint.pause_note
    if endpoint.state in {Endpoint.State.DOWN, Endpoint.State.LOADING}:
        return found_words(endpoint.probed_as or endpoint.detail)
    if endpoint.state == Endpoint.State.RESTING:
        return N_("failures in a row: %(n)s", n=endpoint.failures)
    return ""


def found_words(code: str) -> Text:
    if code in FOUND:
        return FOUND[code]
    if code.startswith(STRANGER):
        return OTHER_STRANGER
    if code.startswith("http "):
        return N_("It answers with an error: %(code)s.", code=code.upper())
    return N_("It could not be asked: %(detail)s", detail=code)
