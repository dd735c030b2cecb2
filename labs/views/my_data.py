"""The download of all that is stored of whoever asks for it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

from asgiref.sync import sync_to_async
from django.contrib.auth.decorators import login_required
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, StreamingHttpResponse
from django.utils import timezone, translation
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from labs.owndata import OwnData
from labs.tables.zipped import zipped
from labs.views.guard import who


@login_required
@never_cache
@require_GET
def my_data(request: HttpRequest) -> StreamingHttpResponse:
    user = who(request)
    pieces = _in_language(zipped(OwnData(user).members()), translation.get_language())
    response = StreamingHttpResponse(
        # Under ASGI a plain iterator would be read to its end before the first byte is sent.
        _async(pieces) if isinstance(request, ASGIRequest) else pieces,
        content_type="application/zip",
    )
    # It is compressed already; each piece packed anew would be a file that browsers do not read to its end.
    response["Content-Encoding"] = "identity"
    name = f"{user.pk}-{timezone.now():%Y-%m-%d}.zip"
    response["Content-Disposition"] = f'attachment; filename="voice-lab-{name}"'
    return response


def _in_language(pieces: Iterator[bytes], language: str | None) -> Iterator[bytes]:
    """The middleware has ended its language when the first piece is made."""
    while True:
        with translation.override(language):
            piece = next(pieces, None)
        if piece is None:
            return
        if piece:
            yield piece


async def _async(pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    take = sync_to_async(lambda: next(pieces, None))
    while (piece := await take()) is not None:
        yield piece
