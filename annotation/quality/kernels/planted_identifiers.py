"""How many planted identifiers the rules find. Questions and identifiers are made up by a seed, and nobody's. Pure.

Each form of an identifier is planted by itself, since a share over forms would depend on how many of each there are.
The forms include those that no rule can find, such as a town alone.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from annotation.quality.kernels.identifiers import IDENTIFIERS, spot_identifiers

PLANTED_RULE = "planted-identifiers-1"
_CARRIERS = (
    "Which finding explains the symptoms on these radiographs, {}?",
    "The frontal and lateral radiographs were taken, {}. Which lobe holds the opacity of 3 x 4 cm?",
    "After a fall two days ago a 58-year-old man has pain at T12, {}, and which of these is seen?",
    "Where does the tip of the central venous catheter lie, {}, on post-operative day 2?",
    "A patient with COPD and a cough is examined, {}. What is the most likely diagnosis?",
    "Which description of the left pleural effusion is right, {}, with a cardiothoracic ratio of 0.52?",
)


def _listed(words: str) -> tuple[str, ...]:
    return tuple(words.split())


_FIRST = _listed("Maria James Aisha Wei Olga Pedro Hannah Kwame Priya Lars Fatima Yuki Karl Ines Tomasz Grace")
_LAST = _listed("Smith Nowak Okafor García O'Brien Turner Nguyen Müller Hill Rossi Jones Haddad Kim Larsen")
_TOWNS = _listed("Boston Hanover Leeds Osaka Utrecht Tucson Lyon Porto")
_SAINTS = _listed("Larkspur Penhollow Ashgrove Riverside Northfield")
_MONTHS = _listed("January February March April May June July August September October November December")


def _(text: str) -> str:
    """Mark a text for translation; pages translate it where it is shown."""
    return text


Make = Callable[[random.Random], str]


class PlantedForm(NamedTuple):
    """One form in which an identifier is written. ``frame`` holds it, with the words around it."""

    letter: str
    label: str
    frame: str
    make: Make


def _digits(n: int) -> Make:
    return lambda draw: "".join(draw.choice("123456789") for _place in range(n))


def _code(letters: int, digits: int) -> Make:
    number = _digits(digits)
    return lambda draw: "".join(draw.choice("ABCDEFGHJKLMNPRSTUVWXYZ") for _place in range(letters)) + number(draw)


def _name(draw: random.Random) -> str:
    return f"{draw.choice(_FIRST)} {draw.choice(_LAST)}"


def _one_of(words: Sequence[str]) -> Make:
    return lambda draw: draw.choice(words)


def _between(low: int, high: int, form: str = "") -> Make:
    return lambda draw: format(draw.randint(low, high), form)


def _written(form: str, **parts: Make) -> Make:
    """``parts`` in the order in which they are drawn."""
    return lambda draw: form.format(**{name: make(draw) for name, make in parts.items()})


_last, _town, _saint, _month = map(_one_of, (_LAST, _TOWNS, _SAINTS, _MONTHS))
_day, _year, _old, _octet = _between(1, 28), _between(2001, 2025), _between(90, 105), _between(1, 254)
_two_digits, _hex = _between(1, 12, "02"), _between(4096, 65535, "x")
_three, _four, _five, _eight = map(_digits, (3, 4, 5, 8))

FORMS = (
    PlantedForm("A", _("after a title"), "as Dr. {} writes", _last),
    PlantedForm("A", _("first name and surname"), "seen in {}", _name),
    PlantedForm("A", _("after the word patient"), "patient: {}", _last),
    PlantedForm("A", _("surname in capitals"), "seen in {}", lambda draw: draw.choice(_LAST).upper()),
    PlantedForm("A", _("surname alone"), "seen in {}", _last),
    PlantedForm("B", _("street and number"), "at {}", _written("{n} {name} Street", n=_two_digits, name=_saint)),
    PlantedForm("B", _("institution"), "at {}", _written("{name} General Hospital", name=_saint)),
    PlantedForm("B", _("postcode after the word"), "ZIP {}", _five),
    PlantedForm("B", _("town after “lives in”"), "who lives in {}", _town),
    PlantedForm("B", _("town alone"), "transferred from {}", _town),
    PlantedForm("C", _("day, month, year"), "on {}", _written("{d} {m} {y}", d=_day, m=_month, y=_year)),
    PlantedForm("C", _("date in figures"), "on {}", _written("{d}/{m}/{y}", d=_day, m=_two_digits, y=_year)),
    PlantedForm("C", _("date in ISO form"), "on {}", _written("{y}-{m}-{d}", y=_year, m=_two_digits, d=_two_digits)),
    PlantedForm("C", _("month and year"), "in {}", _written("{m} {y}", m=_month, y=_year)),
    PlantedForm("C", _("age above 89 in figures"), "{}", _written("a {n}-year-old", n=_old)),
    PlantedForm(
        "C", _("age above 89 in words"), "{}", _one_of(("a ninety-one-year-old", "ninety years old", "in her nineties"))
    ),
    PlantedForm("D", _("number in its form"), "call {}", _written("({a}) 555-{b}", a=_three, b=_four)),
    PlantedForm("D", _("number with a country"), "call {}", _written("+49 511 {a} {b}", a=_three, b=_four)),
    PlantedForm("D", _("digits after the word"), "pager {}", _four),
    PlantedForm("E", _("digits after the word"), "fax {}", _written("{a} {b}", a=_three, b=_four)),
    PlantedForm("F", _("in its form"), "write to {}", lambda draw: f"{draw.choice(_FIRST).lower()}@example.org"),
    PlantedForm("G", _("in its form"), "{}", _written("9{a}-{b}-{c}", a=_digits(2), b=_digits(2), c=_four)),
    PlantedForm("G", _("digits after the word"), "SSN {}", _digits(9)),
    PlantedForm("H", _("after MRN"), "MRN {}", _digits(6)),
    PlantedForm("H", _("after other words"), "hospital number {}", _digits(6)),
    PlantedForm("H", _("digits without a word"), "filed as {}", _digits(6)),
    PlantedForm("I", _("after the word"), "member ID {}", _code(2, 6)),
    PlantedForm("J", _("after the word"), "accession number {}", _eight),
    PlantedForm("K", _("after the word"), "license {}", _digits(7)),
    PlantedForm("L", _("VIN"), "{}", _written("1HGCM{a}A{b}", a=_five, b=_digits(6))),
    PlantedForm("L", _("after “license plate”"), "license plate {}", _code(3, 4)),
    PlantedForm("M", _("serial number"), "serial {}", _code(2, 5)),
    PlantedForm("N", _("with http"), "see {}", _written("https://{a}.example.org/p/{b}", a=_hex, b=_four)),
    PlantedForm("N", _("without http"), "see {}", _written("{a}.example.com/p", a=_hex)),
    PlantedForm("O", _("version 4"), "{}", _written("{a}.{b}.{c}.{d}", a=_octet, b=_octet, c=_octet, d=_octet)),
    PlantedForm("O", _("version 6"), "{}", _written("2001:db8::{a}:{b}", a=_hex, b=_hex)),
    PlantedForm("R", _("UID of DICOM"), "{}", _written("1.2.840.113619.2.{a}.{b}", a=_three, b=_five)),
    PlantedForm("R", _("code of letters and digits"), "{}", _code(3, 6)),
    PlantedForm("R", _("long number"), "{}", _eight),
)


class FoundForm(NamedTuple):
    """Of ``n`` planted: in how many any rule fires at its place, and in how many its own does."""

    letter: str
    label: str
    n: int
    found: int
    by_own: int


def examine_planted(*, n: int, seed: int) -> list[FoundForm]:
    """Each form so many times. The same seed plants the same texts, whatever the rules are."""
    return [_examined(form, n, seed) for form in FORMS]


def _examined(form: PlantedForm, n: int, seed: int) -> FoundForm:
    found = by_own = 0
    for text, start, end in planted_texts(form, n=n, seed=seed):
        letters = {one.identifier.letter for one in spot_identifiers(text) if one.start < end and one.end > start}
        found += bool(letters)
        by_own += form.letter in letters
    return FoundForm(form.letter, form.label, n, found, by_own)


def planted_texts(form: PlantedForm, *, n: int, seed: int) -> list[tuple[str, int, int]]:
    """Made-up questions, with the place of the identifier in each."""
    draw = random.Random(f"{PLANTED_RULE} {seed} {form.letter} {form.label}")  # noqa: S311 - can be repeated
    texts = []
    for _place in range(n):
        planted = form.make(draw)
        before, after = draw.choice(_CARRIERS).split("{}")
        words, _rest = form.frame.split("{}")
        start = len(before) + len(words)
        texts.append((before + form.frame.format(planted) + after, start, start + len(planted)))
    return texts


def false_alarms_of_carriers() -> list[str]:
    """The questions without anything planted in which a rule fires; otherwise recall would be too high."""
    return [one for one in _CARRIERS if spot_identifiers(one.format("as shown"))]


def rule_versions() -> Mapping[str, int]:
    """Of each rule that there is, as it is now."""
    return {one.code: one.version for one in IDENTIFIERS if one.patterns}
