"""A roster as an instructor gives it: which line is which person, and which lines are refused and why."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from django.contrib.auth.validators import UnicodeUsernameValidator
from django.core.exceptions import ValidationError
from django.core.validators import validate_email

from labs.names import joined
from labs.tables.errors import Unreadable
from labs.tables.split import Row, split
from labs.text import N_, Text

MOST_PEOPLE = 5_000
LONGEST_LOGIN = 150
LONGEST_NAME = 150
LONGEST_NUMBER = 40

# What a column may be called, without spaces, hyphens and dots. A gradebook of ours can be given back as it is.
TITLES = {
    "email": {"email", "emailaddress", "mail", "이메일", "이메일주소", "메일", "메일주소", "전자우편"},
    "name": {"name", "fullname", "studentname", "이름", "성명", "학생이름", "학생명"},
    "family": {"family", "familyname", "lastname", "surname", "성"},
    "given": {"given", "givenname", "firstname", "명"},
    "number": {"number", "studentnumber", "studentno", "studentid", "학번"},
    "login": {"login", "username", "user", "아이디", "id", "로그인"},
}
_TITLE_NOISE = re.compile(r"[\s\-_.:*]+")
_IN_BRACKETS = re.compile(r"\([^)]*\)")
# A list of a university's own system may begin with the course's name and the term.
ROWS_OF_HEADING = 10
_is_login = UnicodeUsernameValidator()


@dataclass(frozen=True, slots=True)
class Listed:
    """One person of the list. `login` and `email` are in small letters; at least one of them is there."""

    row: int
    login: str
    email: str
    name: str
    number: str

    @property
    def username(self) -> str:
        """What a new account is called."""
        return self.login or self.email


@dataclass(frozen=True, slots=True)
class RefusedLine:
    row: int
    text: str
    why: Text


@dataclass(frozen=True, slots=True)
class Roster:
    people: Sequence[Listed]
    refused: Sequence[RefusedLine]


def read_roster(text: str) -> Roster:
    """Raises Unreadable where no line can be understood."""
    rows = split(text)
    if not rows:
        raise Unreadable(N_("There is nothing in this list."))
    columns, people_rows = _columns(rows)
    if len(people_rows) > MOST_PEOPLE:
        raise Unreadable(
            N_(
                "This list has %(rows)s rows; a course has at most %(most)s people.",
                rows=len(people_rows),
                most=MOST_PEOPLE,
            )
        )
    people: list[Listed] = []
    refused: list[RefusedLine] = []
    first_rows: dict[str, int] = {}
    for row in people_rows:
        person = _listed(row, columns)
        why = _wrong(person) or _repeated(person, first_rows)
        if why:
            refused.append(RefusedLine(row.number, " ".join(tidy(cell) for cell in row.cells)[:200], why))
            continue
        people.append(person)
        for key in {person.login, person.email} - {""}:
            first_rows[key] = row.number
    return Roster(people, refused)


def tidy(text: str) -> str:
    """One form of Hangul, and single spaces: a name that was broken in a cell is still one name."""
    return " ".join(unicodedata.normalize("NFC", text.replace("\ufeff", "")).split())


def _title(cell: str) -> str:
    return _TITLE_NOISE.sub("", _IN_BRACKETS.sub("", tidy(cell).casefold()))


def _named_columns(cells: Sequence[str]) -> dict[str, int]:
    """Where each column stands, by the first row; nothing where that names none by which people are found."""
    found: dict[str, int] = {}
    for number, cell in enumerate(cells):
        for column, titles in TITLES.items():
            if _title(cell) in titles:
                found.setdefault(column, number)
    return found if {"email", "login", "number"} & set(found) else {}


def _columns(rows: Sequence[Row]) -> tuple[dict[str, int], Sequence[Row]]:
    """Where each column stands, and the rows below the titles. Raises Unreadable."""
    for place, row in enumerate(rows[:ROWS_OF_HEADING]):
        if columns := _named_columns(row.cells):
            return columns, rows[place + 1 :]
        if any(_is_email(tidy(cell)) for cell in row.cells):
            break  # people already, so there are no titles
    return _guessed_columns(rows), rows


def _guessed_columns(rows: Sequence[Row]) -> dict[str, int]:
    """Of a list without titles: the column with addresses, then the first one with words. Raises Unreadable."""
    first = rows[0].cells
    email = next((n for n, cell in enumerate(first) if _is_email(tidy(cell))), None)
    if email is None:
        raise Unreadable(
            N_(
                "The first row names no column that says who is who. Name the columns there, for example:"
                " E-mail, Name."
            )
        )
    rest = {n: tidy(cell) for n, cell in enumerate(first) if n != email}
    found = {"email": email}
    if (name := next((n for n, cell in rest.items() if any(c.isalpha() for c in cell)), None)) is not None:
        found["name"] = name
    if (number := next((n for n, cell in rest.items() if cell.isdecimal()), None)) is not None:
        found["number"] = number
    return found


def _listed(row: Row, columns: dict[str, int]) -> Listed:
    def cell(column: str) -> str:
        place = columns.get(column)
        return tidy(row.cells[place]) if place is not None and place < len(row.cells) else ""

    login, email, number = cell("login").lower(), cell("email").lower(), cell("number")
    return Listed(
        row=row.number,
        # Who has neither login nor address logs in with the student number.
        login=login or ("" if email else number.lower()),
        email=email,
        name=cell("name") or joined(cell("family"), cell("given")),
        number=number,
    )


def _is_email(text: str) -> bool:
    try:
        validate_email(text)
    except ValidationError:
        return False
    return True


def _wrong(person: Listed) -> Text | None:
    if "\ufffd" in person.name + person.username:
        return N_("It holds the mark of a letter that was lost when the file was saved.")
    if any(unicodedata.category(c) == "Cc" for c in person.name + person.username + person.number):
        return N_("It holds a character that is no text.")
    if not person.username:
        return N_("It has no e-mail address, login or student number.")
    if person.email and not _is_email(person.email):
        return N_("This is no e-mail address: %(email)s", email=person.email[:100])
    try:
        _is_login(person.username)
    except ValidationError:
        return N_("A login has letters, digits and @ . + - _ only: %(login)s", login=person.username[:100])
    if len(person.username) > LONGEST_LOGIN or len(person.email) > LONGEST_LOGIN:
        return N_("The e-mail address or login is too long.")
    if len(person.name) > LONGEST_NAME:
        return N_("The name is too long.")
    if len(person.number) > LONGEST_NUMBER:
        return N_("The student number is too long.")
    return None


def _repeated(person: Listed, first_rows: dict[str, int]) -> Text | None:
    for key in (person.login, person.email):
        if key in first_rows:
            return N_("The same person as in row %(row)s.", row=first_rows[key])
    return None
