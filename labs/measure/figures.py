"""The figures of one ask, read off its frames and nothing else, so that a regrade can read them again.

Definitions (DESIGN 2 and 7): the first token is the first non-empty visible `content`; the role frame, pings,
progress, empty content and the usage frame never count, and hidden reasoning is kept apart. Tokens are the
server's count: one piece may carry several tokens, or a token may need several reads.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from labs.llama.errors import BadFrame
from labs.llama.wire import Chunk, Progress, Timings, Usage
from labs.measure.events import read_events
from labs.measure.opening import Opening
from labs.measure.recording import Figures, Frame, StreamEnd
from labs.measure.sentences import SENTENCE_RULE_VERSION

# An answer of this many pieces in a single read, this long after the headers, was held back on its way
# (a proxy that buffers, a gzip layer): its TTFT is the proxy's, not the server's.
BUFFERED_PIECES = 4
BUFFERED_AFTER_US = 100_000


def read_figures(
    frames: Sequence[Frame],
    *,
    connect_us: int | None = None,
    headers_us: int | None,
    end: StreamEnd,
    end_us: int | None,
) -> Figures:
    """Figures of an ask whose stream ended as `end`. Never raises: broken bytes become `error`.

    All times in microseconds from the request's last byte. None is 'did not happen', never 0.
    """
    seen = _Seen()
    try:
        for at_us, event in read_events(frames):
            if isinstance(event, Chunk):
                seen.take(at_us, event)
            elif seen.done_us is None:
                seen.done_us = at_us
    except BadFrame as exc:
        seen.error = seen.error or str(exc)
    timings, usage, progress = seen.timings, seen.usage, seen.progress
    tokens = _tokens(seen)
    seen.opening.end(end, seen.finish_reason)
    first = seen.opening.first
    return Figures(
        end=end,
        text="".join(seen.text),
        connect_us=connect_us,
        headers_us=headers_us,
        role_us=seen.role_us,
        first_generated_us=seen.first_generated_us,
        first_token_us=seen.first_token_us,
        last_token_us=seen.last_token_us,
        done_us=seen.done_us,
        end_us=end_us,
        pieces=len(seen.text),
        coalesced_reads=sum(1 for events in seen.generated_at.values() if events > 1),
        buffered=_buffered(seen, headers_us or 0),
        tokens=tokens,
        us_per_token=_us_per_token(seen, tokens),
        finish_reason=seen.finish_reason,
        timings_final=seen.timings_final,
        cache_n=timings.cache_n if timings else None,
        prompt_n=timings.prompt_n if timings else None,
        prompt_ms=timings.prompt_ms if timings else None,
        predicted_n=timings.predicted_n if timings else None,
        predicted_ms=timings.predicted_ms if timings else None,
        usage_prompt_tokens=usage.prompt_tokens if usage else None,
        progress_total=progress.total if progress else None,
        progress_cache=seen.progress_cache,
        progress_processed=progress.processed if progress else None,
        error=seen.error,
        first_sentence_us=first.at_us if first else None,
        first_sentence_end=first.end if first else None,
        sentence_rule=SENTENCE_RULE_VERSION,
    )


@dataclass(slots=True)
class _Seen:
    text: list[str] = field(default_factory=list)
    opening: Opening = field(default_factory=Opening)
    generated_at: Counter[int] = field(default_factory=Counter)  # token events by the time of their read
    role_us: int | None = None
    first_generated_us: int | None = None
    first_token_us: int | None = None
    last_token_us: int | None = None
    done_us: int | None = None
    finish_reason: str | None = None
    timings: Timings | None = None
    timings_final: bool = False
    usage: Usage | None = None
    progress: Progress | None = None
    progress_cache: int | None = None
    error: str | None = None

    def take(self, at_us: int, chunk: Chunk) -> None:
        if chunk.role is not None and self.role_us is None:
            self.role_us = at_us
        if chunk.is_generated:
            self.generated_at[at_us] += 1
            if self.first_generated_us is None:
                self.first_generated_us = at_us
        if chunk.is_first_visible:
            self.text.append(chunk.content)
            self.opening.take(chunk.content, at_us)
            self.last_token_us = at_us
            if self.first_token_us is None:
                self.first_token_us = at_us
        if chunk.progress is not None:
            self.progress = chunk.progress
            if self.progress_cache is None:
                self.progress_cache = chunk.progress.cache
        self.finish_reason = chunk.finish_reason or self.finish_reason
        self.usage = chunk.usage or self.usage
        # With `timings_per_token` a progress frame carries them too, all zeros: nothing is computed yet.
        if chunk.timings is not None and chunk.progress is None:
            self.timings = chunk.timings
            # Every piece carries them then; only those behind the last piece are the whole sum.
            self.timings_final = self.finish_reason is not None or self.usage is not None
        if chunk.error is not None and self.error is None:
            self.error = chunk.error.message or chunk.error.kind or "error"


def _tokens(seen: _Seen) -> int | None:
    if seen.timings is not None:
        return seen.timings.predicted_n
    return seen.usage.completion_tokens if seen.usage is not None else None


def _us_per_token(seen: _Seen, tokens: int | None) -> float | None:
    """Over `tokens - 1` steps, the first token being free. None for one token, one piece or one read."""
    first_us, last_us = seen.first_token_us, seen.last_token_us
    if tokens is None or tokens < 2 or first_us is None or last_us is None or last_us == first_us:
        return None
    return (last_us - first_us) / (tokens - 1)


def _buffered(seen: _Seen, headers_us: int) -> bool:
    first_us = seen.first_token_us
    return (
        first_us is not None
        and len(seen.text) >= BUFFERED_PIECES
        and seen.last_token_us == first_us
        and first_us - headers_us >= BUFFERED_AFTER_US
    )
