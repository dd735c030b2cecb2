"""The flags of the lab's server, the model behind them, and the refusal to start."""

import struct
from pathlib import Path

import pytest

from labs.llama import machine
from labs.llama.flags import MIB, CannotStart, Flags, default_model, from_arguments, parser
from labs.llama.gguf import BadModel, read_model


def text(value: str) -> bytes:
    return struct.pack("<Q", len(value.encode())) + value.encode()


def number(key: str, value: int) -> bytes:
    return text(key) + struct.pack("<II", 4, value)


def gguf(*pairs: bytes, pad: int = 0) -> bytes:
    return struct.pack("<4sIQQ", b"GGUF", 3, 0, len(pairs)) + b"".join(pairs) + b"\0" * pad


def words(key: str, *items: str) -> bytes:
    return text(key) + struct.pack("<IIQ", 9, 8, len(items)) + b"".join(map(text, items))


HEADER = (
    text("general.architecture") + struct.pack("<I", 8) + text("llama"),
    words("general.tags", "a", "b"),
    number("llama.block_count", 30),
    number("llama.embedding_length", 576),
    number("llama.attention.head_count", 9),
)
KV_HEADS = number("llama.attention.head_count_kv", 3)
VOCABULARY = words("tokenizer.ggml.tokens", "<s>", "안")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "small.gguf"
    path.write_bytes(gguf(*HEADER, KV_HEADS, VOCABULARY, pad=MIB))
    return path


def test_kv_bytes_of_a_token(model: Path, tmp_path: Path) -> None:
    # SmolLM2-135M: 30 layers, 3 key-value heads of 64, keys and values, two bytes each.
    assert read_model(model).kv_bytes_per_token == 30 * 3 * (64 + 64) * 2
    no_grouping = tmp_path / "mha.gguf"
    no_grouping.write_bytes(gguf(*HEADER, VOCABULARY))
    assert read_model(no_grouping).kv_bytes_per_token == 30 * 9 * (64 + 64) * 2


def test_heads_given_layer_by_layer_and_own_head_sizes(tmp_path: Path) -> None:
    path = tmp_path / "layers.gguf"
    heads = text("llama.attention.head_count_kv") + struct.pack("<IIQ4i", 9, 5, 4, 1, 1, 2, 2)
    sizes = number("llama.attention.key_length", 256), number("llama.attention.value_length", 128)
    path.write_bytes(gguf(*HEADER, heads, *sizes))
    assert read_model(path).kv_bytes_per_token == (1 + 1 + 2 + 2) * (256 + 128) * 2


@pytest.mark.parametrize("data", [b"", b"GGUF", b"\x7fELF" + b"\0" * 40, gguf(*HEADER)[:60], gguf(HEADER[0])])
def test_not_a_model(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "broken.gguf"
    path.write_bytes(data)
    with pytest.raises(BadModel, match=r"broken\.gguf"):
        read_model(path)


def test_the_installed_model_is_found_without_importing_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LABHUB_MODEL", raising=False)
    assert default_model().suffix == ".gguf"
    assert read_model(default_model()).kv_bytes_per_token > 0
    monkeypatch.setenv("LABHUB_MODEL", "/elsewhere/qwen.gguf")
    assert default_model() == Path("/elsewhere/qwen.gguf")


def test_what_fits_is_said_with_its_numbers(model: Path) -> None:
    flags = Flags(port=1, model=model, threads=1)
    said = flags.check_memory(machine.Allowance(400 * MIB, "cgroup memory limit"))
    assert "model 1 MiB + KV cache 180 MiB + host prompt cache 0 MiB = 181 MiB" in said
    assert "cgroup memory limit: 400 MiB" in said


@pytest.mark.parametrize(("ctx", "cache_ram_mib"), [(8192, 8192), (65536, 0), (8192, -1)])
def test_what_does_not_fit_is_refused_with_its_numbers(model: Path, ctx: int, cache_ram_mib: int) -> None:
    """The client's case: 8,192 MiB of host cache in a pod of 2 GiB."""
    flags = Flags(port=1, model=model, threads=1, ctx=ctx, cache_ram_mib=cache_ram_mib)
    with pytest.raises(CannotStart, match=r"KV cache .* MiB.*cgroup memory limit: 1,024 MiB"):
        flags.check_memory(machine.Allowance(1024 * MIB, "cgroup memory limit"))


def test_the_labs_flags(model: Path) -> None:
    got = parser().parse_args(
        ["--port", "9", "--model", str(model), "--threads", "3", "--slot-save-path", "/s"]
    )
    argv = " ".join(from_arguments(got).argv())
    for wanted in (
        "--cache-ram 0",
        "--cache-reuse 0",
        "--parallel 2",
        "--ctx-size 8192",
        "--batch-size 128",
        "--ubatch-size 128",
        "--slots",
        "--metrics",
        "--slot-save-path /s/",
        "--threads 3",
        "--host 127.0.0.1",
    ):
        assert wanted in argv


def test_the_key_is_not_an_argument(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LLAMA_API_KEY", "secret")
    flags = from_arguments(parser().parse_args(["--port", "9", "--model", str(model)]))
    assert flags.api_key == "secret"
    assert "secret" not in " ".join(flags.argv())
