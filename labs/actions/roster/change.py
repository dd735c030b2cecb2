"""What a roster would change, as the preview shows it and as it is then written."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass

from django.contrib.auth.models import User

from labs.models import Enrolment
from labs.names import full_name
from labs.roster import Listed, RefusedLine


@dataclass(frozen=True, slots=True)
class Arrival:
    """Who is not in the course yet, or comes back. `user` is None where the account has to be made."""

    listed: Listed
    user: User | None
    enrolment: Enrolment | None = None


@dataclass(frozen=True, slots=True)
class Correction:
    """What the list says otherwise about someone in the course; None where it says the same or nothing."""

    enrolment: Enrolment
    name: str | None
    number: str | None
    email: str | None
    # The account is not this instructor's alone, so its name stays.
    kept_name: str | None = None

    @property
    def old_name(self) -> str:
        return full_name(self.enrolment.user)

    @property
    def told(self) -> dict[str, str]:
        """What changes, for the audit: 'old -> new' by field."""
        fields = {
            "name": (self.name, self.old_name),
            "number": (self.number, self.enrolment.number),
            "email": (self.email, self.enrolment.user.email),
        }
        return {key: f"{old} -> {new}" for key, (new, old) in fields.items() if new is not None}

    @property
    def is_empty(self) -> bool:
        return self.name is None and self.number is None and self.email is None


@dataclass(frozen=True, slots=True)
class Change:
    """`leaving` are the students whom the list does not name; `digest` is over all that would be written."""

    new: Sequence[Arrival]
    back: Sequence[Arrival]
    corrected: Sequence[Correction]
    other_names: Sequence[Correction]
    kept: int
    leaving: Sequence[Enrolment]
    refused: Sequence[RefusedLine]

    @property
    def digest(self) -> str:
        told = [
            [
                (a.listed.username, a.listed.email, a.listed.name, a.listed.number, a.user and a.user.pk)
                for a in self.new
            ],
            [(a.listed.name, a.listed.number, a.enrolment and a.enrolment.pk) for a in self.back],
            [(c.enrolment.pk, c.name, c.number, c.email) for c in self.corrected],
            [enrolment.pk for enrolment in self.leaving],
        ]
        return hashlib.sha256(json.dumps(told).encode()).hexdigest()
