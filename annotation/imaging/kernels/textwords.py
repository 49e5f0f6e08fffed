"""The words that may be in a radiograph without telling who the patient is. Data with a version: images keep theirs.

Side, projection and position words only. What else is written in an image - a name, a number, a date, a ward, a panel
letter of a figure - is for a person to judge.
"""

from __future__ import annotations

import unicodedata

VERSION = "words-1"


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


SIDES = _words(
    "L R D S G LT RT LI RE DX SX SN SIN DEX DER IZQ LEFT RIGHT DEXTER DEXTRA SINISTER SINISTRA LINKS RECHTS "
    "GAUCHE DROIT DROITE DERECHA IZQUIERDA DESTRA"
)
PROJECTIONS = _words(
    "PA AP LL RL LAT LATERAL LLAT RLAT OBL OBLIQUE LAO RAO LPO RPO LORDOTIC FRONTAL AXIAL PROFIL LATLEFT LATRIGHT"
)
POSITIONS = _words(
    "ERECT UPRIGHT SUPINE PRONE PORTABLE PORT MOBILE BEDSIDE STANDING SITTING SEATED SEMI SEMIERECT SEMIUPRIGHT "
    "RECUMBENT DECUBITUS DECUB LLD RLD INSP EXP INSPIRATION EXPIRATION"
)
ALLOWED = SIDES | PROJECTIONS | POSITIONS
_LEFT = _words("L S G LT LI SX SN SIN IZQ LEFT SINISTER SINISTRA LINKS GAUCHE IZQUIERDA")

# What a reader of text takes for a letter, in the direction that makes a known word of it.
CONFUSIONS = str.maketrans({"0": "O", "1": "I", "5": "S", "8": "B", "4": "A", "6": "G", "|": "I", "Đ": "D"})
LEAST_FOR_ONE_WRONG_LETTER = 5
# One stroke or one ring is an electrode, a lead, a clip or the edge of a bone far more often than a letter.
STROKES_AND_RINGS = frozenset("O0I1")


def letters_of(text: str) -> str:
    """What counts of a reading: its letters and digits in upper case, spaces kept between words."""
    plain = unicodedata.normalize("NFKC", text).upper()
    return " ".join("".join(c if c.isalnum() else " " for c in plain).split())


def side_of(text: str) -> str:
    """L or R where the words of a reading name one side, else nothing."""
    sides = {"L" if word in _LEFT else "R" for word in text.split() if word in SIDES}
    return sides.pop() if len(sides) == 1 else ""


def is_allowed(text: str, more: frozenset[str] = frozenset()) -> bool:
    """Whether every word of a reading (see letters_of) is a known one, also written together or one letter wrong.

    ``more``: words of the site, in capitals; these count exactly as they are written.
    """
    words = text.split()
    return bool(words) and all(word in more or _is_known(word) for word in words)


def _is_known(word: str) -> bool:
    if word in ALLOWED:
        return True
    if not any(c.isalpha() for c in word):
        return False
    repaired = word.translate(CONFUSIONS)
    return repaired in ALLOWED or _is_one_letter_off(repaired) or _is_a_chain(repaired)


def _is_one_letter_off(word: str) -> bool:
    if len(word) < LEAST_FOR_ONE_WRONG_LETTER:
        return False
    near = (known for known in ALLOWED if len(known) >= LEAST_FOR_ONE_WRONG_LETTER)
    return any(differ_by_one(word, known) for known in near)


def differ_by_one(one: str, other: str) -> bool:
    """Whether one letter changed, left out or added makes the two the same."""
    if abs(len(one) - len(other)) > 1:
        return False
    start = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    rest, other_rest = one[start:], other[start:]
    return rest[1:] == other_rest[1:] or rest[1:] == other_rest or rest == other_rest[1:]


def _is_a_chain(word: str) -> bool:
    """Words of three letters and more written together, a projection of two letters at either end included."""
    parts = {known for known in ALLOWED if len(known) >= 3} | {"PA", "AP"}
    reachable = {0}
    for end in range(1, len(word) + 1):
        if any(start in reachable and word[start:end] in parts for start in range(end)):
            reachable.add(end)
    return len(word) >= 5 and len(word) in reachable
