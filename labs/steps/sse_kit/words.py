"""What the drawn answers say, cut as a model's tokens cut them; and how a server says that it cannot go on."""

from __future__ import annotations

from collections.abc import Sequence

ANSWERS: Sequence[Sequence[str]] = (
    ("도서", "관은 ", "화요일", "부터 ", "토요일", "까지 ", "아홉 시에 ", "문을 ", "엽니다", "."),
    ("열람실은 ", "이", "층 창가에 ", "있", "고, ", "자리는 ", "마흔 ", "개입니다", "."),
    ("책은 ", "한 번에 ", "여덟 ", "권까지 ", "빌려 ", "삼 주 ", "동안 ", "읽을 수 ", "있어요", "."),
    ("지도", "방은 ", "목요일에만 ", "열립니다", ". ", "열쇠는 ", "관리인이 ", "가지고 ", "있습니다", "."),
    ("이동 ", "도서관은 ", "초록색 ", "승합차", "예요", ". ", "강가의 ", "일곱 ", "마을을 ", "돕니다", "."),
    ("우산은 ", "비 오는 ", "날 ", "안내대에서 ", "빌릴 ", "수 ", "있습니다", ". ", "돌려 ", "주세요", "!"),
    (
        "정원의 ",
        "박하",
        "는 ",
        "누구나 ",
        "몇 잎 ",
        "따도 ",
        "됩니다",
        ". ",
        "물은 ",
        "오전에 ",
        "줍니다",
        ".",
    ),
    (
        "망원경은 ",
        "하룻밤 ",
        "빌려",
        "드려요",
        ": ",
        "붉은 ",
        "등과 ",
        "별 지도",
        "와 ",
        "담요도 ",
        "함께요",
        ".",
    ),
)

ERRORS: Sequence[tuple[int, str, str]] = (
    (500, "server_error", "Context size has been exceeded."),
    (500, "server_error", "failed to decode the batch"),
    (503, "unavailable_error", "the server is shutting down"),
)
