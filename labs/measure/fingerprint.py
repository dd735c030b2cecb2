"""Which servers are the same for a comparison: model, build, template, and how much one conversation holds."""

from __future__ import annotations

import hashlib

from labs.measure.recording import ServerFacts


def fingerprint(facts: ServerFacts) -> str:
    """Sixteen hex digits; "" while nothing is known. Speed and threads are the machine's and stay out."""
    if not facts.model:
        return ""
    said = "\n".join((facts.model, facts.build, facts.template_hash, str(facts.n_ctx), str(facts.slots)))
    return hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()[:16]
