"""What can go wrong when speaking to a llama-server."""


class LlamaError(Exception):
    """The root. `str()` is a plain sentence for the log; user-visible wording is chosen by the caller."""


class BadAddress(LlamaError):
    """The endpoint's address is not one we call; `reason` is a stable code (see `labs.llama.address`)."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class Unreachable(LlamaError):
    """No answer: refused, unknown host, or silent. `timed_out` tells a wedged server from an absent one, `untrusted`
    one whose certificate was not accepted."""

    def __init__(self, message: str, *, timed_out: bool = False, untrusted: bool = False) -> None:
        super().__init__(message)
        self.timed_out = timed_out
        self.untrusted = untrusted


class Rejected(LlamaError):
    """The server answered with an HTTP error.

    `kind` is the server's own error type (for instance `exceed_context_size_error`), or "" where the
    body was not llama-server's error JSON; such a body is never echoed.
    """

    def __init__(
        self,
        status: int,
        kind: str = "",
        message: str = "",
        *,
        n_prompt_tokens: int | None = None,
        n_ctx: int | None = None,
    ) -> None:
        super().__init__(f"HTTP {status}" + (f": {message}" if message else ""))
        self.status = status
        self.kind = kind
        self.message = message
        self.n_prompt_tokens = n_prompt_tokens
        self.n_ctx = n_ctx


class Unauthorised(Rejected):
    """401 or 403: the key is missing or wrong."""


class Loading(Rejected):
    """503: the model is still loading."""


class NotSupported(Rejected):
    """404, 405 or 501: this server was started without what was asked for."""


class BadFrame(LlamaError):
    """The answer is not what llama-server sends: broken JSON, a wrong content type, broken framing."""
