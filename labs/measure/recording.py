"""What happened for one item of a plan: frames, the server's counters, slot samples, token ids, figures.

All times are whole microseconds on the worker's monotonic clock. Times of an ask count from the moment the
request's last byte was handed to the socket; `sent_at_us` places that moment in the run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, Self

from labs.measure.sentences.thinking import without_thoughts
from labs.text import Json

StreamEnd = Literal[
    "done",
    "cut",
    "first_token_timeout",
    "idle_timeout",
    "time_limit",
    "truncated",
    "error",
    "rejected",
    "held",
]


@dataclass(frozen=True, slots=True)
class Frame:
    """One piece of the body as it came off the wire, after HTTP de-chunking. Equal `at_us`: one read."""

    at_us: int
    data: bytes


@dataclass(frozen=True, slots=True)
class SlotSample:
    """What `/slots` said of the ask's own slot. `at_us` counts from the ask's sent; it is when the answer
    came."""

    at_us: int
    busy: bool
    id_task: int | None
    n_prompt_tokens: int | None
    n_decoded: int | None = None


@dataclass(frozen=True, slots=True)
class Figures:
    """Read off the frames alone, by `figures.read_figures`; None where it did not happen.

    `text` is the visible answer. `connect_us` is how long it took to connect, before the clock of the ask
    starts; older recordings do not know it. `tokens` is the server's count, never the number of pieces. Server
    counters come from the final `timings`, or for a cut ask from the last frame that carried them
    (`timings_final` tells). `text[:first_sentence_end]` holds the first sentence, certain at
    `first_sentence_us` by version `sentence_rule` of the graded rule (None: read before there was one).
    """

    end: StreamEnd
    text: str = ""
    connect_us: int | None = None
    headers_us: int | None = None
    role_us: int | None = None
    first_generated_us: int | None = None
    first_token_us: int | None = None
    last_token_us: int | None = None
    done_us: int | None = None
    end_us: int | None = None
    pieces: int = 0
    coalesced_reads: int = 0
    buffered: bool = False
    tokens: int | None = None
    us_per_token: float | None = None
    finish_reason: str | None = None
    timings_final: bool = False
    cache_n: int | None = None
    prompt_n: int | None = None
    prompt_ms: float | None = None
    predicted_n: int | None = None
    predicted_ms: float | None = None
    usage_prompt_tokens: int | None = None
    progress_total: int | None = None
    progress_cache: int | None = None
    progress_processed: int | None = None
    error: str | None = None
    first_sentence_us: int | None = None
    first_sentence_end: int | None = None
    sentence_rule: int | None = None

    @property
    def ttft_us(self) -> int | None:
        """First visible content minus sent (DESIGN 2): the role frame, pings and progress never count."""
        return self.first_token_us

    @property
    def first_sentence(self) -> str:
        """What a voice says first, without thoughts; "" where no sentence was certain."""
        end = self.first_sentence_end
        return "" if end is None else without_thoughts(self.text[:end]).strip()

    def to_json(self) -> Json:
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        return cls(**data)


@dataclass(frozen=True, slots=True)
class Recording:
    """One ask (`kind` 'ask') or get ('get'). `prompt_ids` are the templated prompt's tokens as the server
    cuts them, `prompt_pieces` their bytes as `pack_pieces` packs them ("" in older recordings).

    `closed_us`: when we closed or shut the connection. `idle_us`: when `/slots` first showed our task gone
    from the slot. `prompt_tokens_after`: `n_prompt_tokens` of our task's slot after release. `id_task` is
    read once after the headers. `log_cancel` is the server log's cancel line for our task, where a log can
    be read, else None. `body` holds what a `get` brought, as JSON text.
    """

    key: str
    kind: Literal["ask", "get"]
    slot: int = 0
    sent_at_us: int = 0
    figures: Figures = Figures(end="done")
    prompt_ids: tuple[int, ...] = ()
    generated_ids: tuple[int, ...] = ()
    prompt_pieces: str = ""
    prompt_hash: str = ""
    template_hash: str = ""
    id_task: int | None = None
    closed_us: int | None = None
    idle_us: int | None = None
    deadline_us: int | None = None
    prompt_tokens_after: int | None = None
    log_cancel: str | None = None
    log_readable: bool = False
    samples: tuple[SlotSample, ...] = ()
    body: str = ""
    frames: tuple[Frame, ...] = field(default=(), compare=False)

    @property
    def n(self) -> int:
        """N: how many tokens the templated prompt has."""
        return len(self.prompt_ids)

    def to_json(self) -> Json:
        """Everything but the frames, which are stored apart (`pack_frames`)."""
        data = {k: v for k, v in _shallow(self).items() if k != "frames"}
        data["figures"] = self.figures.to_json()
        data["samples"] = [asdict(s) for s in self.samples]
        data["prompt_ids"] = list(self.prompt_ids)
        data["generated_ids"] = list(self.generated_ids)
        return data

    @classmethod
    def from_json(cls, data: Mapping[str, Any], frames: Sequence[Frame] = ()) -> Self:
        fields = dict(data)
        fields["figures"] = Figures.from_json(fields["figures"])
        fields["samples"] = tuple(SlotSample(**s) for s in fields["samples"])
        fields["prompt_ids"] = tuple(fields["prompt_ids"])
        fields["generated_ids"] = tuple(fields["generated_ids"])
        return cls(**fields, frames=tuple(frames))


def _shallow(recording: Recording) -> Json:
    return {name: getattr(recording, name) for name in recording.__dataclass_fields__}


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """What the endpoint was when the run began; part of every check's evidence."""

    build: str = ""
    model: str = ""
    template_hash: str = ""
    n_ctx: int = 0
    slots: int = 0
    batch: int | None = None
    prompt_ms_per_token: float | None = None
    threads: int | None = None

    def to_json(self) -> Json:
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        return cls(**data)


@dataclass(frozen=True, slots=True)
class RunRecord:
    """One run's recordings by item key, and whether anybody else used the endpoint meanwhile.

    `metrics_agree`: the deltas of `/metrics` equal the sum of ours (True), do not (False), or there is no
    `/metrics` (None). `head_tokens`: how many tokens the template puts before the lab line; None unknown.
    `lease_us`: from the moment the endpoint was ours to the plan's first item: slots idle, prompts cut into tokens.
    `throttled`: how a CPU quota stopped the worker or the server meanwhile, as `quota.Quota.end` has it; {} unknown.
    """

    recordings: Mapping[str, Recording]
    server: ServerFacts = ServerFacts()
    lab_line: str = ""
    lab_line_tokens: int = 0
    head_tokens: int | None = None
    metrics_agree: bool | None = None
    foreign_tasks: int = 0
    lease_us: int | None = None
    throttled: Mapping[str, Any] = field(default_factory=dict)
    note: str = ""

    def __getitem__(self, key: str) -> Recording:
        return self.recordings[key]

    def get(self, key: str) -> Recording | None:
        return self.recordings.get(key)
