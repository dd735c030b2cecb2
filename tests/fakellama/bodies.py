"""What it says about itself: properties, counters, and the settings of a request as a slot shows them."""

from __future__ import annotations

from typing import Any

from tests.fakellama.engine import Engine
from tests.fakellama.frames import BUILD
from tests.fakellama.settings import Settings
from tests.fakellama.tasks import Json
from tests.fakellama.tokens import END, START, TEMPLATE

MODEL = "fake-words"

_SAMPLING: Json = {
    "seed": 4294967295,
    "temperature": 0.8,
    "dynatemp_range": 0.0,
    "dynatemp_exponent": 1.0,
    "top_k": 40,
    "top_p": 0.95,
    "min_p": 0.05,
    "top_n_sigma": -1.0,
    "xtc_probability": 0.0,
    "xtc_threshold": 0.1,
    "typical_p": 1.0,
    "repeat_last_n": 64,
    "repeat_penalty": 1.0,
    "presence_penalty": 0.0,
    "frequency_penalty": 0.0,
    "dry_multiplier": 0.0,
    "dry_base": 1.75,
    "dry_allowed_length": 2,
    "dry_penalty_last_n": 64,
    "mirostat": 0,
    "mirostat_tau": 5.0,
    "mirostat_eta": 0.1,
    "adaptive_target": -1.0,
    "adaptive_decay": 0.9,
    "max_tokens": -1,
    "n_predict": -1,
    "n_keep": 0,
    "n_discard": 0,
    "ignore_eos": False,
    "stream": False,
    "n_probs": 0,
    "min_keep": 0,
    "chat_format": "Content-only",
    "reasoning_format": "none",
    "reasoning_in_content": False,
    "generation_prompt": "",
    "samplers": ["penalties", "dry", "top_n_sigma", "top_k", "typ_p", "top_p", "min_p", "xtc", "temperature"],
    "speculative.types": "none",
    "timings_per_token": False,
    "post_sampling_probs": False,
    "backend_sampling": False,
    "lora": [],
}


def params_of(body: Json, max_tokens: int) -> Json:
    """The settings that a slot shows of its last request."""
    named = ("seed", "temperature", "ignore_eos", "stream", "timings_per_token")
    given: dict[str, Any] = {name: body[name] for name in named if name in body}
    more = {"max_tokens": max_tokens, "n_predict": max_tokens, "generation_prompt": f"{START}assistant\n"}
    return {**_SAMPLING, "chat_format": "peg-native", "reasoning_format": "deepseek", **given, **more}


def props(settings: Settings) -> Json:
    return {
        "default_generation_settings": {"params": _SAMPLING, "n_ctx": settings.n_ctx},
        "total_slots": settings.slots,
        "model_alias": MODEL,
        "model_ftype": "none",
        "model_path": f"/models/{MODEL}.gguf",
        "modalities": {"vision": False, "video": False, "audio": False},
        "media_marker": "<__media__>",
        "endpoint_slots": settings.show_slots,
        "endpoint_props": False,
        "endpoint_metrics": settings.show_metrics,
        "ui": True,
        "ui_settings": {},
        "chat_template": TEMPLATE,
        "chat_template_caps": {
            "supports_object_arguments": False,
            "supports_parallel_tool_calls": False,
            "supports_preserve_reasoning": False,
            "supports_reasoning_effort": False,
            "supports_string_content": True,
            "supports_system_role": True,
            "supports_tool_calls": False,
            "supports_tools": False,
            "supports_typed_content": False,
        },
        "bos_token": START,
        "eos_token": END,
        "build_info": BUILD,
        "is_sleeping": False,
        "cors_proxy_enabled": False,
    }


def metrics(engine: Engine) -> str:
    counters = engine.counters
    busy = sum(slot.task is not None for slot in engine.slots)
    prompt_s, predicted_s = counters.prompt_ms / 1000, counters.predicted_ms / 1000
    values: list[tuple[str, str, float]] = [
        ("prompt_tokens_total", "counter", counters.prompt),
        ("prompt_tokens_cached_total", "counter", counters.cached),
        ("prompt_seconds_total", "counter", prompt_s),
        ("tokens_predicted_total", "counter", counters.predicted),
        ("tokens_predicted_seconds_total", "counter", predicted_s),
        ("n_decode_total", "counter", counters.passes),
        ("n_tokens_max", "counter", counters.longest),
        ("spec_decode_num_draft_tokens_total", "counter", 0),
        ("spec_decode_num_accepted_tokens_total", "counter", 0),
        ("spec_decode_num_drafts_total", "counter", 0),
        ("prompt_tokens_seconds", "gauge", counters.prompt / prompt_s if prompt_s else 0),
        ("predicted_tokens_seconds", "gauge", counters.predicted / predicted_s if predicted_s else 0),
        ("requests_processing", "gauge", busy),
        ("requests_deferred", "gauge", len(engine.queue)),
        ("n_busy_slots_per_decode", "gauge", counters.busy_slots / counters.passes if counters.passes else 0),
    ]
    return "".join(
        f"# HELP llamacpp:{name} {name}\n# TYPE llamacpp:{name} {kind}\nllamacpp:{name} {value:g}\n"
        if isinstance(value, float)
        else f"# HELP llamacpp:{name} {name}\n# TYPE llamacpp:{name} {kind}\nllamacpp:{name} {value}\n"
        for name, kind, value in values
    )
