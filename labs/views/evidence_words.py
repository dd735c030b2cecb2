"""What the figures of a check's evidence are called. A name that the server itself uses is no word: it stays code."""

from __future__ import annotations

from collections.abc import Mapping

from labs.text import N_, Text

NAMES: Mapping[str, Text] = {
    # prompts, in tokens
    "n": N_("prompt tokens"),
    "lcp": N_("common prefix"),
    "lab_line_tokens": N_("tokens of the lab line"),
    "metrics_agree": N_("the server's counters agree"),
    "tokens": N_("tokens"),
    "tokens_erased": N_("tokens erased"),
    "reference_prompt_n": N_("reference layout"),
    "order": N_("order of the blocks"),
    "missing": N_("missing from a prompt"),
    # what the student said
    "said": N_("your answer"),
    "said_ms": N_("your answer"),
    "guess": N_("your prediction"),
    "guess_ms": N_("your prediction"),
    "predicted": N_("your prediction"),
    "marked": N_("the place you marked"),
    "right_ms": N_("right"),
    "short_us": N_("right"),
    "per_document_ms": N_("right"),
    "by_counts_ms": N_("by these counts"),
    "line_ms": N_("by the line"),
    "share": N_("off by at most"),
    "slack_ms": N_("off by at most"),
    "rest_us": N_("off by at most, the rest"),
    # times
    "ms": N_("off by at most"),
    "us": N_("slot free within"),
    "limit_us": N_("slot free within"),
    "ttft_us": N_("TTFT"),
    "ttft_ms": N_("TTFT"),
    "headers_us": N_("headers came after"),
    "role_us": N_("role frame after"),
    "first_sentence_us": N_("first sentence after"),
    "parts_us.wait": N_("wait"),
    "parts_us.prefill": N_("prefill"),
    "parts_us.rest": N_("rest"),
    "ms_per_token": N_("ms a token"),
    "known_ms_per_token": N_("ms a token, known of this server"),
    "repeats": N_("runs of each size"),
    # streams
    "frame": N_("the frame you picked"),
    "first_token_frame": N_("frame with the first text"),
    "first_token": N_("first text"),
    "pieces": N_("pieces"),
    "pieces.count": N_("pieces"),
    "text": N_("text"),
    "error": N_("error"),
    "done": N_("end seen"),
    "line": N_("line"),
    # sentences
    "first": N_("from place"),
    "last": N_("to place"),
    "cut": N_("texts that are cut too early"),
    "cap": N_("cap"),
    "clip": N_("clip"),
    "spoken": N_("spoken"),
    "sentences": N_("sentences"),
    "least": N_("at least"),
    "most": N_("at most"),
    "first_sentence_tokens": N_("tokens to the end of the first sentence"),
    "third_sentence_tokens": N_("tokens to the end of the third sentence"),
    # a closed stream
    "phase": N_("what it was doing"),
    "closed_us": N_("closed after"),
    "freed_us": N_("slot free after another"),
    "written": N_("tokens written"),
    "after_cut": N_("tokens computed after the close"),
    "stopped_early": N_("stopped early"),
    "allowed_tokens": N_("tokens allowed"),
    "prompt_tokens_after": N_("tokens in the slot afterwards"),
    "log_cancel": N_("cancelled, says its log"),
    "log_readable": N_("its log can be read"),
    "saved": N_("tokens saved"),
    "twin_closed_us": N_("held open until"),
    "same_slot_waited_us": N_("next turn on its slot waited"),
    "other_slot_waited_us": N_("next turn on the other slot waited"),
    "twin_id_task": N_("task held open"),
    "twin.id_task": N_("its slot: task"),
    "twin.is_processing": N_("its slot: busy"),
    "twin.n_prompt_tokens": N_("its slot: prompt tokens"),
    # the server's answers
    "health": N_("bytes of /health"),
    "props": N_("bytes of /props"),
    "share_tokens": N_("tokens of one slot"),
    "held": N_("tokens held"),
    "slots": N_("slots"),
    "students": N_("students"),
    "mib": N_("MiB"),
    # requests without a title of their own
    "on": N_("with a host cache"),
    "off": N_("without a host cache"),
}

KEPT: Mapping[str, Text] = {
    "kept": N_("exactly three sentences"),
    "one": N_("one sentence"),
    "other": N_("two sentences, or none"),
    "list": N_("a numbered list"),
    "more": N_("more than three sentences"),
    "cut": N_("cut by the cap"),
}
VALUES: Mapping[str, Mapping[str, Text]] = {
    "phase": {"prefill": N_("reading"), "decode": N_("writing"), "done": N_("finished")},
    **{f"answer-{number}": KEPT for number in range(1, 6)},
}
