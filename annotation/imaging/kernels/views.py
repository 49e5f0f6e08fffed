"""How a radiograph was taken, by what its file says of it: words, or codes of DICOM PS3.16 CID 4010. Pure.

A view is never guessed: of words that are not all known, none counts.
"""

from __future__ import annotations

import re
from itertools import permutations, product

from annotation.enums import ViewPosition
from annotation.imaging.kernels.elements import VIEW_CODE_SEQUENCE, DicomFile

_PA, _AP, _LL, _RL = ViewPosition.PA, ViewPosition.AP, ViewPosition.LL, ViewPosition.RL
_LATERALS = ("LATERAL", "LAT")
_OBLIQUES = ("LAO", "RAO", "LPO", "RPO", "LLO", "RLO", "OBLIQUE")
_WORDS: dict[str, ViewPosition] = {
    **dict.fromkeys(("PA", "P A", "POSTERO ANTERIOR", "POSTEROANTERIOR"), _PA),
    **dict.fromkeys(("AP", "A P", "ANTERO POSTERIOR", "ANTEROPOSTERIOR", "AP AXIAL"), _AP),
    **dict.fromkeys(("LL", "LLAT"), _LL),
    **dict.fromkeys(("RL", "RLAT"), _RL),
    **dict.fromkeys(_LATERALS, ViewPosition.LATERAL),
    **dict.fromkeys(_OBLIQUES, ViewPosition.OBLIQUE),
    **{
        " ".join(words): view
        for sides, view in ((("L", "LT", "LEFT"), _LL), (("R", "RT", "RIGHT"), _RL))
        for pair in product(sides, _LATERALS)
        for words in permutations(pair)
    },
}
_BESIDE = frozenset(  # words that say nothing of the direction
    re.findall(
        r"\w+",
        "CHEST THORAX LUNG LUNGS ERECT UPRIGHT STANDING SITTING SUPINE PORTABLE MOBILE BEDSIDE VIEW VIEWS PROJECTION",
    )
)
_CODES = {  # SNOMED CT, and SNOMED-RT as SRT, SNM3 and 99SDM have it
    **dict.fromkeys(("272479007", "R-10214", "R-40888"), _PA),
    **dict.fromkeys(("399348003", "R-10206"), _AP),
    **dict.fromkeys(("399173006", "R-10236"), _LL),
    **dict.fromkeys(("399198007", "R-10232"), _RL),
    **dict.fromkeys(("399067008", "R-102CD"), ViewPosition.LATERAL),
    **dict.fromkeys(("399135007", "399356000", "R-10220", "R-10222", "R-40985"), ViewPosition.OBLIQUE),  # anterior
    **dict.fromkeys(("399038007", "399006002", "R-10210", "R-10212"), ViewPosition.OBLIQUE),  # posterior
    **dict.fromkeys(("399182000", "399236003", "399184004", "R-102C1", "R-10234", "R-10238"), ViewPosition.OBLIQUE),
}
OTHER_WORDS = "?"  # in place of words that are not shown: those of two files need not be the same
_SHOWN = re.compile(r"[A-Z0-9 _,./-]{1,16}")


def view_of(file: DicomFile) -> tuple[ViewPosition, str]:
    """The view, and what was stated and not understood (else empty).

    View Position goes before View Code Sequence, and both before the name of a processing menu, where FUJI writes it;
    that name is only a hint, so it is not among what was not understood.
    """
    stated = _text(file.values.get(0x00185101, b""))
    coded = [(_text(item.get(0x00080100, b"")), item) for item in file.sequences.get(VIEW_CODE_SEQUENCE, ())]
    found = [view_of_words(stated)]
    found += [_CODES.get(code) or view_of_words(_text(item.get(0x00080104, b""))) for code, item in coded[:1]]
    found += [view_of_words(_text(file.values.get(0x00181400, b"")))]
    view = next((one for one in found if one is not ViewPosition.UNKNOWN), ViewPosition.UNKNOWN)
    missed = "" if view is not ViewPosition.UNKNOWN else stated or "".join(code for code, _item in coded[:1])
    return view, missed if not missed or _SHOWN.fullmatch(missed) else OTHER_WORDS


def view_of_words(text: str) -> ViewPosition:
    """A view in everyday forms: ``CHEST PA``, ``AP SUPINE``, ``LLAT``. Unknown where any word is."""
    words = [word for word in re.split(r"[\W_]+", text.upper()) if word]
    said = " ".join(word for word in words if word not in _BESIDE and not word.isdigit())
    return _WORDS.get(said, ViewPosition.UNKNOWN)


def _text(value: bytes) -> str:
    return value.decode("latin-1").strip("\0 ").upper()
