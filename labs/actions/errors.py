"""Why an action was refused: a plain sentence for the person."""

from __future__ import annotations

from labs.steps.base import StepForm
from labs.text import Text


class Refused(Exception):
    """The action changed nothing. `text` says why and what to do."""

    def __init__(self, text: Text) -> None:
        super().__init__(str(text))
        self.text = text


class InvalidAnswers(Exception):
    """The form has errors; nothing was saved. `form` is bound and carries them."""

    def __init__(self, form: StepForm) -> None:
        super().__init__(form.errors.as_json())
        self.form = form


class NotFound(Exception):
    """It does not exist, or not for this person; both look the same from outside."""
