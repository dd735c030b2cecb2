"""Prompts that more than one step sends."""

from __future__ import annotations

from collections.abc import Sequence

RULE = "Answer in one short sentence from these notes."


def with_documents(documents: Sequence[str], question: str) -> tuple[dict[str, str], ...]:
    """A system message that holds the rule and the documents, then the question."""
    return (
        {"role": "system", "content": "\n\n".join((RULE, *documents))},
        {"role": "user", "content": question},
    )


def as_text(messages: Sequence[dict[str, str]]) -> str:
    """The messages as a person reads them."""
    return "\n\n".join(f"[{m['role']}]\n{m['content']}" for m in messages)
