"""Static files under hashed names, with the imports between ES modules rewritten to them."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from whitenoise.compress import Compressor
from whitenoise.storage import CompressedManifestStaticFilesStorage

HASH = re.compile(r"\.[0-9a-f]{12}(?=\.[^.]+$)")


class ReadyCompressor(Compressor):
    """Takes what the build has compressed already (brotli too): doing it again costs a minute for Python's 17 MB."""

    def compress(self, path: str) -> list[str]:
        plain = Path(path).with_name(HASH.sub("", Path(path).name))
        ready = [plain.with_name(plain.name + suffix) for suffix in (".br", ".gz")]
        if not all(file.is_file() for file in ready):
            found: list[str] = super().compress(path)
            return found
        copies = [path + file.suffix for file in ready]
        for file, copy in zip(ready, copies, strict=True):
            if str(file) != copy:
                shutil.copy2(file, copy)
        return copies


class HashedStaticFiles(CompressedManifestStaticFilesStorage):
    support_js_module_import_aggregation = True

    def post_process(self, paths: dict[str, object], *args: object, **kwargs: object) -> Iterator[object]:
        """What the build compressed has no address of its own."""
        files = {name: found for name, found in paths.items() if not name.endswith((".br", ".gz"))}
        yield from super().post_process(files, *args, **kwargs)

    def create_compressor(self, **kwargs: object) -> Compressor:
        return ReadyCompressor(**kwargs)
