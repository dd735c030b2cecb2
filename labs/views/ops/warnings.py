"""What about a server's start blurs the lab, and what to start it with instead."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from labs.llama.startup import Startup, read_startup
from labs.models import Endpoint
from labs.text import N_, Text

LEAST_CTX, LARGEST_BATCH = 4096, 512


def warnings_of(endpoint: Endpoint, log: Path | None) -> list[Text]:
    """By what it says itself, and by its log where that can be read."""
    started = read_startup(log) if log is not None else Startup()
    return [
        *_by_facts(endpoint, started),
        *_by_abilities(endpoint),
        *_by_log(started),
        *_by_address(endpoint),
    ]


def _by_facts(endpoint: Endpoint, started: Startup) -> Iterator[Text]:
    facts = endpoint.facts
    slots, n_ctx = facts.get("slots") or 0, facts.get("n_ctx") or 0
    threads = started.threads or facts.get("threads")
    batch = started.batch or facts.get("batch")
    if slots == 1:
        yield N_("It has one slot. Steps that hold two conversations at once cannot run there: --parallel 2.")
    if threads and slots > threads:
        yield N_(
            "It has %(slots)s slots on %(threads)s threads: requests slow each other down, and times say little.",
            slots=slots,
            threads=threads,
        )
    if 0 < n_ctx < LEAST_CTX:
        yield N_(
            "One slot holds %(n)s tokens; the longest prompts of the lab need %(least)s. Give --ctx-size %(all)s.",
            n=n_ctx,
            least=LEAST_CTX,
            all=LEAST_CTX * max(slots, 1),
        )
    if batch and batch > LARGEST_BATCH:
        yield N_(
            "It computes %(batch)s prompt tokens in one go, and looks for a closed connection only in between:"
            " --batch-size 128 --ubatch-size 128.",
            batch=batch,
        )


def _by_abilities(endpoint: Endpoint) -> Iterator[Text]:
    able = endpoint.abilities
    if able.get("slots") is False:
        yield N_("It does not answer /slots, so nobody can see who else uses it: start it with --slots.")
    if able.get("metrics") is False:
        yield N_(
            "It has no /metrics: other work there goes unnoticed, and points that hang on the cache stay open."
            " Start it with --metrics."
        )
    if able.get("erase") is False:
        yield N_("Its slots cannot be emptied, which one step needs: --slot-save-path with a folder.")
    if able.get("tokens") is False:
        yield N_("It does not count the tokens of a prompt, so forms cannot say what fits.")


def _by_log(started: Startup) -> Iterator[Text]:
    if started.cache_ram_mib:
        yield N_(
            "It keeps old prompts in the machine's memory (%(mib)s MiB), so what should be cold is warm:"
            " --cache-ram 0.",
            mib=started.cache_ram_mib,
        )
    if started.cache_reuse:
        yield N_(
            "It reuses pieces from the middle of a prompt, which hides what the lab shows: --cache-reuse 0."
        )
    if started.is_unified:
        yield N_("Its slots share one cache, so that one may drive out another's prompt: --no-kv-unified.")


def _by_address(endpoint: Endpoint) -> Iterator[Text]:
    if endpoint.base_url.startswith("https:") and not endpoint.verify_tls:
        yield N_("Its certificate is not checked: whoever stands in between can read the key.")
