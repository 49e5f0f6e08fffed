"""How many planted identifiers the rules find. Questions and identifiers are made up by a seed, and nobody's.

Each way of writing is counted by itself, since a share over all would depend on how many of each there are. Those that
no rule can find, such as a town alone, are among them.
"""

from __future__ import annotations

import random
import re
from typing import NamedTuple

from annotation.questionbank.kernels.identifiers import spot_identifiers
from annotation.statistics.kernels.estimate import Estimate
from annotation.statistics.kernels.intervals import share

CARRIERS = (
    "Which finding explains the symptoms on these radiographs, {}?",
    "The frontal and lateral radiographs were taken, {}. Which lobe holds the opacity of 3 x 4 cm?",
    "After a fall two days ago a 58-year-old man has pain at T12, {}, and which of these is seen?",
    "Where does the tip of the central venous catheter lie, {}, on post-operative day 2?",
    "A patient with COPD and a cough is examined, {}. What is the most likely diagnosis?",
    "Which description of the left pleural effusion is right, {}, with a cardiothoracic ratio of 0.52?",
)
_NAMES = {
    "first": "Maria James Aisha Wei Olga Pedro Hannah Kwame Priya Lars Fatima Yuki Karl Ines Tomasz Grace",
    "last": "Smith Nowak Okafor García O'Brien Turner Nguyen Müller Hill Rossi Jones Haddad Kim Larsen",
    "town": "Boston Hanover Leeds Osaka Utrecht Tucson Lyon Porto",
    "saint": "Larkspur Penhollow Ashgrove Riverside Northfield",
    "month": "January February March April May June July August September October November December",
    "old": "ninety-one-year-old ninety-five-year-old",
}
WORDS = {name: words.split() for name, words in _NAMES.items()} | {"upper": _NAMES["last"].upper().split()}
NUMBERS = {"day": (1, 28), "year": (2001, 2025), "age": (90, 105), "octet": (1, 254), "mm": (10, 12)}


class PlantedForm(NamedTuple):
    """One way of writing an identifier: it stands between the brackets, with the words around it.

    ``#`` is a digit, ``@`` a capital letter, ``{last}`` one of the words or numbers of this name.
    """

    letter: str
    label: str
    written: str


FORMS = (
    PlantedForm("A", "after a title", "as Dr. <{last}> writes"),
    PlantedForm("A", "first name and surname", "seen in <{first} {last}>"),
    PlantedForm("A", "after the word patient", "patient: <{last}>"),
    PlantedForm("A", "surname in capitals", "seen in <{upper}>"),
    PlantedForm("A", "surname alone", "seen in <{last}>"),
    PlantedForm("B", "street and number", "at <{mm} {saint} Street>"),
    PlantedForm("B", "institution", "at <{saint} General Hospital>"),
    PlantedForm("B", "postcode after the word", "ZIP <#####>"),
    PlantedForm("B", "town after “lives in”", "who lives in <{town}>"),
    PlantedForm("B", "town alone", "transferred from <{town}>"),
    PlantedForm("C", "day, month, year", "on <{day} {month} {year}>"),
    PlantedForm("C", "date in figures", "on <{day}/{mm}/{year}>"),
    PlantedForm("C", "date in ISO form", "on <{year}-{mm}-{mm}>"),
    PlantedForm("C", "month and year", "in <{month} {year}>"),
    PlantedForm("C", "age above 89 in figures", "<a {age}-year-old>"),
    PlantedForm("C", "age above 89 in words", "<a {old}>"),
    PlantedForm("D", "number in its form", "call <(###) 555-####>"),
    PlantedForm("D", "number with a country", "call <+49 511 ### ####>"),
    PlantedForm("D", "digits after the word", "pager <####>"),
    PlantedForm("E", "digits after the word", "fax <### ####>"),
    PlantedForm("F", "in its form", "write to <{first}@example.org>"),
    PlantedForm("G", "in its form", "<9##-##-####>"),
    PlantedForm("G", "digits after the word", "SSN <#########>"),
    PlantedForm("H", "after MRN", "MRN <######>"),
    PlantedForm("H", "after other words", "hospital number <######>"),
    PlantedForm("H", "digits without a word", "filed as <######>"),
    PlantedForm("I", "after the word", "member ID <@@######>"),
    PlantedForm("J", "after the word", "accession number <########>"),
    PlantedForm("K", "after the word", "license <#######>"),
    PlantedForm("L", "VIN", "<1HGCM#####A######>"),
    PlantedForm("L", "after “license plate”", "license plate <@@@####>"),
    PlantedForm("M", "serial number", "serial <@@#####>"),
    PlantedForm("N", "with http", "see <https://a####.example.org/p/####>"),
    PlantedForm("N", "without http", "see <a####.example.com/p>"),
    PlantedForm("O", "version 4", "<{octet}.{octet}.{octet}.{octet}>"),
    PlantedForm("O", "version 6", "<2001:db8::####:####>"),
    PlantedForm("R", "UID of DICOM", "<1.2.840.113619.2.###.#####>"),
    PlantedForm("R", "code of letters and digits", "<@@@######>"),
    PlantedForm("R", "long number", "<########>"),
)


def planted_texts(form: PlantedForm, *, n: int, seed: int) -> list[tuple[str, int, int]]:
    """Made-up questions, with the place of the identifier in each. The same seed plants the same texts."""
    draw = random.Random(f"{seed} {form.letter} {form.label}")

    def drawn(found: re.Match[str]) -> str:
        if found[0] in "#@":
            return draw.choice("123456789" if found[0] == "#" else "ABCDEFGHJKLMNPRSTUVWXYZ")
        name = found[0][1:-1]
        return draw.choice(WORDS[name]) if name in WORDS else str(draw.randint(*NUMBERS[name]))

    texts = []
    for _place in range(n):
        marked = draw.choice(CARRIERS).format(re.sub(r"#|@(?!example)|\{\w+\}", drawn, form.written))
        start, end = marked.index("<"), marked.index(">") - 1
        texts.append((marked.replace("<", "").replace(">", ""), start, end))
    return texts


def found_of(form: PlantedForm, *, n: int, seed: int) -> Estimate:
    """In how many of n texts any rule fires at the place of the identifier."""
    texts = planted_texts(form, n=n, seed=seed)
    found = (any(one.start < end and one.end > start for one in spot_identifiers(text)) for text, start, end in texts)
    return share(sum(found), n)
