"""Just enough of the GGUF header to know how large a model's KV cache is.

https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
"""

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from labs.llama.errors import LlamaError

_FORMATS = {
    0: "B",
    1: "b",
    2: "H",
    3: "h",
    4: "I",
    5: "i",
    6: "f",
    7: "?",
    10: "Q",
    11: "q",
    12: "d",
}
_STRING, _ARRAY = 8, 9
_KV_CACHE_BYTES = 2  # an element of the cache, which is f16 by default


class BadModel(LlamaError):
    """The file is not a GGUF model we can read."""


@dataclass(frozen=True, slots=True)
class Model:
    """`kv_bytes_per_token` holds for a full-attention f16 cache, which is the most a model can need."""

    file_bytes: int
    kv_bytes_per_token: int


def read_model(path: Path) -> Model:
    """Raises BadModel, with the path in its sentence."""
    try:
        with path.open("rb") as file:
            facts = _metadata(file)
        return Model(path.stat().st_size, _kv_bytes_per_token(facts))
    except (
        OSError,
        struct.error,
        KeyError,
        TypeError,
        ZeroDivisionError,
        UnicodeDecodeError,
    ) as exc:
        raise BadModel(f"{path} is not a readable GGUF model ({exc})") from exc


def _kv_bytes_per_token(facts: dict[str, object]) -> int:
    arch = facts["general.architecture"]
    layers = _number(facts[f"{arch}.block_count"])
    heads = _number(facts[f"{arch}.attention.head_count"])
    heads_kv = facts.get(f"{arch}.attention.head_count_kv", heads)
    per_head = _number(facts[f"{arch}.embedding_length"]) // heads
    key = _number(facts.get(f"{arch}.attention.key_length", per_head))
    value = _number(facts.get(f"{arch}.attention.value_length", per_head))
    # Some models give the heads layer by layer.
    all_heads = sum(map(_number, heads_kv)) if isinstance(heads_kv, list) else layers * _number(heads_kv)
    return all_heads * (key + value) * _KV_CACHE_BYTES


def _number(value: object) -> int:
    if isinstance(value, list):
        return max(map(_number, value))
    if not isinstance(value, int):
        raise TypeError("a size in the header is not a number")
    return value


def _metadata(file: BinaryIO) -> dict[str, object]:
    magic, version, _tensors, count = struct.unpack("<4sIQQ", file.read(24))
    if magic != b"GGUF" or version < 2:
        raise TypeError("no GGUF header")
    facts: dict[str, object] = {}
    for _ in range(count):
        key = _string(file)
        if key.startswith("tokenizer."):
            break  # the vocabulary: long, and the sizes stand before it
        (kind,) = struct.unpack("<I", file.read(4))
        facts[key] = _value(file, kind)
    return facts


def _value(file: BinaryIO, kind: int) -> object:
    if kind == _STRING:
        return _string(file)
    if kind == _ARRAY:
        item_kind, count = struct.unpack("<IQ", file.read(12))
        return [_value(file, item_kind) for _ in range(count)]
    form = "<" + _FORMATS[kind]
    return struct.unpack(form, file.read(struct.calcsize(form)))[0]


def _string(file: BinaryIO) -> str:
    (length,) = struct.unpack("<Q", file.read(8))
    if length > 1 << 24:
        raise TypeError("a text in the header is too long")
    return file.read(length).decode()
