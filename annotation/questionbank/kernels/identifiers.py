"""The 18 identifiers of HIPAA Safe Harbor, each with its rule for text, or why it has none. Pure.

45 CFR 164.514(b)(2)(i), (A) to (R). A rule finds what looks like an identifier; whether it is one, a person decides.
A name in ordinary letters without a title, and a town alone, look like other words: no rule finds all of them.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import NamedTuple

from annotation.questionbank.kernels.vocabulary import ACRONYMS, MONTHS, NO_NAMES, SURNAMES

NOT_IN_TEXT = "does not apply to text"


class Pattern(NamedTuple):
    """``needs``: in small letters, one of them is in every text that it matches; empty: nothing is known."""

    regex: str
    needs: tuple[str, ...]


class Identifier(NamedTuple):
    """``letter`` as in the regulation; ``rule`` in words. Where there are no patterns it begins with NOT_IN_TEXT."""

    letter: str
    code: str
    label: str
    rule: str
    patterns: tuple[Pattern, ...] = ()
    version: int = 1

    @property
    def token(self) -> str:
        """What stands in a text where something was masked, such as [NAME]."""
        return f"[{self.code.removeprefix('identifier_').replace('_', ' ').upper()}]"


class Spotted(NamedTuple):
    identifier: Identifier
    start: int  # from 0
    end: int


class TextPart(NamedTuple):
    """A piece of a text as it is, or a place with what it looks like."""

    text: str
    identifier: Identifier | None = None


def _pattern(regex: str, *needs: str) -> Pattern:
    return Pattern(regex, needs)


_compiled = cache(re.compile)  # when one is needed: all of them take longer than any other module does at a start


_MONTHS = tuple(sorted(MONTHS))
# "may" and "mar" in small letters are other words: options may, Del Mar.
_MONTH = (
    r"(?!may\b|mar\b)(?i:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sep(?:t|tember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
_SEASONS = ("spring", "summer", "autumn", "fall", "winter")
_UPPER, _LOWER = "[A-ZÀ-ÖØ-Þ]", "[a-zß-öø-ÿ]"
_JOINED = rf"(?:[-'’]{_UPPER}?{_LOWER}+)"
_OCTET = r"(?:25[0-5]|2[0-4]\d|1?\d?\d)"
_TITLES = ("dr", "mr", "ms", "prof", "doctor", "nurse", "herr", "frau")
_TITLE_WORDS = frozenset(("Dr", "Mr", "Mrs", "Ms", "Prof", "Professor", "Doctor", "Nurse", "Herr", "Frau"))
_ENDINGS = (".com", ".org", ".net", ".edu", ".gov", ".mil")  # of web addresses that are written without http
_STREETS = "street|st|avenue|ave|road|rd|lane|ln|drive|mews|court|way|boulevard|blvd|square|close|terrace"
_HOUSES = "hospital|infirmary|clinic|medical center|medical centre|medical school|university"
_PLANS = "health plan|insurance|member|beneficiary|policy|subscriber|medicare|medicaid|hpbn|hicn"
_CODE = r"[\s:#.=-]{0,4}[A-Z0-9_-]{0,20}\d[\w-]*"
_LONG_CODE = r"[\s:#.=-]{0,4}[A-Z0-9_-]{0,20}\d[\w-]{2,}"
_WORD = r"[A-Z][\w'’.-]*"


IDENTIFIERS = (
    Identifier(
        "A",
        "identifier_name",
        "a name",
        "after a title or “signed by”, NAME^FIRST, a word in capitals, two capitalised words inside a sentence",
        (
            _pattern(rf"\b(?:Dr|Mr|Mrs|Ms|Prof|Professor|Doctor|Nurse|Herr|Frau)\b\.?\s+{_WORD}", *_TITLES),
            _pattern(
                rf"\b(?i:(?:patient|name|dictated|signed|reported|referred)(?: name| by)?)\s*[:=]\s*{_WORD}", ":", "="
            ),
            _pattern(rf"\b(?i:(?:dictated|signed|reported|referred|interpreted|read) by)\s+{_WORD}", " by "),
            _pattern(r"\b[A-Z][\w'’-]{0,100}+\^[A-Z]\w*", "^"),
            _pattern(rf"(?<![\w-]){_UPPER}{{4,}}(?:[-'’]{_UPPER}{{2,}})*(?![\w-])"),
            _pattern(rf"(?<![\w-])(?:O|D)['’]{_UPPER}{{3,}}(?![\w-])"),
            _pattern(rf"(?<=[a-z,;] )[A-Z]{_LOWER}+{_JOINED}? (?:[OD]['’])?[A-Z]{_LOWER}{{2,}}{_JOINED}?\b"),
        ),
        version=2,
    ),
    Identifier(
        "B",
        "identifier_place",
        "a place smaller than a state",
        "streets with a number, institutions, “lives in …”, postcodes, coordinates",
        (
            _pattern(rf"\b\d{{1,5}}\s+(?:{_WORD}\s+){{1,4}}(?i:{_STREETS})\b"),
            _pattern(rf"\b(?:[A-Z][\w'’-]{{1,100}}+\s+){{1,4}}(?i:{_HOUSES})\b", *_HOUSES.split("|")),
            _pattern(rf"\b(?i:lives in|resident of|city of|town of|county of)\s+{_WORD}", " in ", " of "),
            _pattern(r"\b(?:[A-Z]{2}|(?i:zip(?: code)?|postcode))[\s:]+\d{5}(?:-\d{4})?\b"),
            _pattern(r"(?<![\w-])\d{5}-\d{4}(?![\w-])", "-"),
            _pattern(r"-?\b\d{1,2}\.\d{4,}\s*,\s*-?\d{1,3}\.\d{4,}", ","),
        ),
        version=2,
    ),
    Identifier(
        "C",
        "identifier_date",
        "a date, or an age above 89",
        "days, months and seasons with numbers, ages from 90; a year alone is none",
        (
            _pattern(r"(?<![\d./-])\d{1,2}([/.-])\d{1,2}\1(?:\d{4}|\d{2})(?!\d|[./-]\d)"),
            _pattern(r"(?<![\d.])(?:19|20)\d\d[-/.](?:0?[1-9]|1[0-2])[-/.](?:0?[1-9]|[12]\d|3[01])(?!\d|\.\d)"),
            _pattern(r"(?<![\d.])(?:19|20)\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])(?!\d|\.\d)"),
            _pattern(rf"\b\d{{1,2}}(?:st|nd|rd|th)?[\s-]+(?:of\s+)?{_MONTH}(?:[\s-]+\d{{4}})?\b", *_MONTHS),
            _pattern(rf"\b{_MONTH}\s+(?:\d{{1,2}}(?:st|nd|rd|th)?(?:,?\s+\d{{4}})?|\d{{4}})\b", *_MONTHS),
            _pattern(r"(?<![\d./-])(?:0?[1-9]|1[0-2])[/-](?:19|20)\d\d(?!\d|[./-]\d)", "/", "-"),
            _pattern(r"(?<![\d./-])(?:19|20)\d\d-(?:0[1-9]|1[0-2])(?!\d|[./-]\d)", "-"),
            _pattern(rf"\b(?i:{'|'.join(_SEASONS)})\s+(?:of\s+)?(?:19|20)\d\d\b", *_SEASONS),
            _pattern(r"\b0?(?:9\d|1[0-2]\d)(?:Y\b|[\s-]?(?:years?|yrs?|y[./]?o)\b)", "y"),
            _pattern(r"\b(?i:aged?)[\s:]+(?:of\s+)?(?:9\d|1[0-2]\d)\b", "age"),
            _pattern(r"\b(?i:ninety(?:[\s-]\w+)?[\s-]years?\b|in (?:his|her|their|the) nineties\b)", "ninet"),
        ),
        version=2,
    ),
    Identifier(
        "D",
        "identifier_phone",
        "a telephone number",
        "forms of numbers, or digits after the word",
        (
            _pattern(r"(?<![\w.-])(?:\+?\d{1,3}[\s.-])?(?:\(\d{3}\)\s?|\d{3}[\s.-])?\d{3}[.-]\d{4}(?![\w-]|\.\d)"),
            _pattern(r"(?<![\w.-])(?:\(\d{3}\)\s?|\d{3} )\d{3} \d{4}(?![\w-]|\.\d)"),
            _pattern(r"(?<!\w)\+\d[\d\s().-]{7,}\d|(?<![\w.,/-])\(?0\d{1,4}\)?(?:[ /.-]\d{2,4}){2,4}(?![\w/-]|[.,]\d)"),
            _pattern(
                r"\b(?i:tel|telephone|phone|pager|extension|ext|mobile|cell)\b[\s.:#]*+(?i:no\.?|number)?[\s:]*"
                r"\+?\d[\d\s().-]{2,}",
                *("tel", "phone", "pager", "ext", "mobile", "cell"),
            ),
        ),
        version=3,
    ),
    Identifier(
        "E",
        "identifier_fax",
        "a fax number",
        "digits after the word",
        (_pattern(r"\b(?i:fax)\b[^\d\n]{0,15}\+?\d[\d\s().-]{3,}", "fax"),),
    ),
    Identifier(
        "F",
        "identifier_email",
        "an e-mail address",
        "its form, around an @",
        (_pattern(r"(?<![\w.+-])[\w.+-]++@[\w-]++(?:\.[\w-]++)+", "@"),),
    ),
    Identifier(
        "G",
        "identifier_social_security",
        "a social security number",
        "its form, or digits after the word",
        (
            _pattern(r"(?<![\w-])\d{3}-\d{2}-\d{4}(?![\w-])", "-"),
            _pattern(r"\b(?i:SSN|social security)\b[^\d\n]{0,15}\d[\d -]{6,}", "ssn", "social security"),
        ),
    ),
    Identifier(
        "H",
        "identifier_record",
        "a medical record number",
        "a code after the word or its abbreviation (MRN, chart number)",
        (
            _pattern(
                rf"\b(?i:MRN|(?:medical )?record (?:number|no\.?)|patient (?:id|number|no\.?)|PID){_CODE}",
                *("mrn", "record n", "patient", "pid"),
            ),
            _pattern(
                rf"\b(?i:medical record|(?:hospital|chart|case|study) (?:number|no\.?|id)){_LONG_CODE}",
                *("medical record", "hospital ", "chart ", "case ", "study "),
            ),
        ),
        version=2,
    ),
    Identifier(
        "I",
        "identifier_health_plan",
        "a health plan number",
        "digits after the word (insurance, member, policy)",
        (_pattern(rf"\b(?i:{_PLANS})\b(?i:\s+no\.)?[^.\n\d]{{0,20}}\d{{4,}}", *_PLANS.split("|")),),
        version=2,
    ),
    Identifier(
        "J",
        "identifier_account",
        "an account number",
        "a code after the word (accession, account, encounter)",
        (
            _pattern(
                rf"\b(?i:acc|accession|account|acct|encounter|visit)\b(?i: (?:number|no\.?|id))?{_LONG_CODE}",
                *("acc", "encounter", "visit"),
            ),
        ),
    ),
    Identifier(
        "K",
        "identifier_licence",
        "a certificate or licence number",
        "digits after the word (licence, NPI, DEA), a code after “passport”",
        (
            _pattern(
                r"\b(?i:licen[cs]e|certificate|NPI|DEA)\b(?i:\s+no\.)?[^.\n\d]{0,15}\d{4,}",
                *("licen", "certificate", "npi", "dea"),
            ),
            _pattern(rf"\b(?i:passport)\b(?i:\s+(?:number|no\.?))?{_LONG_CODE}", "passport"),
        ),
        version=2,
    ),
    Identifier(
        "L",
        "identifier_vehicle",
        "a vehicle identifier",
        "VIN; a code after “license plate”",
        (
            _pattern(r"\b(?=[A-Z]*\d)(?=\d*[A-Z])[A-HJ-NPR-Z\d]{17}\b"),
            _pattern(
                r"\b(?i:(?:licen[cs]e|number) plate|VIN)\b[\s:#]*+(?=[A-Z -]{0,99}\d)[A-Z\d][A-Z\d -]{3,}",
                *("plate", "vin"),
            ),
        ),
    ),
    Identifier(
        "M",
        "identifier_device",
        "a device identifier",
        "a code after “serial”, “SN”; names of stations such as ABCD-XR-ROOM7",
        (
            _pattern(
                rf"\b(?i:serial|S/N|SN|device id|UDI|lot)\b(?i: (?:number|no\.?))?{_LONG_CODE}",
                *("serial", "s/n", "sn", "device id", "udi", "lot"),
            ),
            _pattern(r"\b[A-Z]{3,40}(?:[-_][A-Z0-9]{1,40}){0,10}[-_][A-Z]{2,40}\d+\b", "-", "_"),
        ),
    ),
    Identifier(
        "N",
        "identifier_url",
        "a web address",
        "its form, also without http by its ending",
        (
            _pattern(r"\b(?i:https?://|ftp://|www\.)\S+", "://", "www."),
            _pattern(r"(?<![\w@.-])(?:[a-z0-9-]++\.)+(?![a-z\d-]+\.)(?:com|org|net|edu|gov|mil)\b(?:/\S*)?", *_ENDINGS),
        ),
        version=2,
    ),
    Identifier(
        "O",
        "identifier_ip",
        "an IP address",
        "its forms, versions 4 and 6",
        (
            _pattern(rf"(?<![\d.])(?:{_OCTET}\.){{3}}{_OCTET}(?!\.?\d)", "."),
            _pattern(r"(?<![\w:])(?:[0-9a-fA-F]{1,4}:){4,7}[0-9a-fA-F]{1,4}(?![\w:])", ":"),
            _pattern(r"(?<![\w:])(?:[0-9a-fA-F]{1,4}:){1,6}(?::[0-9a-fA-F]{1,4}){1,6}(?![\w:])", "::"),
        ),
        version=2,
    ),
    Identifier(
        "P", "identifier_biometric", "a biometric identifier", f"{NOT_IN_TEXT}: finger and voice prints are recordings"
    ),
    Identifier("Q", "identifier_photograph", "a full-face photograph", f"{NOT_IN_TEXT}: a photograph is no text"),
    Identifier(
        "R",
        "identifier_other",
        "another unique number or code",
        "UIDs, 7 digits or more, codes of capitals and digits, of hexadecimal digits",
        (
            _pattern(r"(?<![\w.])[0-2](?:\.\d++){5,}(?!\.\d)(?![\w.]*\w)", "."),
            _pattern(r"(?<![\w.])\d{7,}(?!\w|\.\d)"),
            _pattern(r"(?<![\w-])(?=[\w-]{0,40}\d{3})(?=[\w-]{0,40}[A-Z])[A-Z0-9][A-Z0-9_-]{6,}+(?!\w)"),
            _pattern(r"(?<![\w-])(?=[a-f]{0,40}\d)(?=\d{0,40}[a-f])[a-f\d]{8,}+(?![\w-])"),
        ),
    ),
)
_TOKENS = "|".join(re.escape(one.token) for one in IDENTIFIERS)
_ALL = tuple(one for one in IDENTIFIERS if one.patterns)
_FEW_DIGITS = tuple(one for one in _ALL if one.letter in "ABCFLMN")
_NO_DIGIT = tuple(one for one in _ALL if one.letter in "ABFN")
_AGE_IN_WORDS = tuple(one for one in _ALL if one.letter in "ABCFN")
_DIGIT, _TWO_DIGITS, _NUMBER = re.compile(r"[0-9]"), re.compile(r"[0-9]{2}"), re.compile(r"\d(?:\d\d|[./-]\d)|\w::?\w")
# Without a digit, one of these is in every identifier: a capital inside a sentence, or words and signs of its own.
_INSIDE = re.compile(
    r"[A-Z](?:(?<=..)(?<![.?!\n][ \n][A-Z])|(?=(?:r|rs|s|rof|rofessor|octor|urse|err|rau)\b))", re.DOTALL
)
_ALONE = ("@", "^", "://", "www.", "ospital", "nfirmary", "linic", "edical ", "niversity")
_ENDING = re.compile(r"\.(?:com|org|net|edu|gov|mil)\b")


def spot_identifiers(text: str) -> list[Spotted]:
    """What looks like an identifier, by its place in the text; another code only where nothing else was found.

    What stands for something masked is none.
    """
    if "[" in text:
        text = _compiled(_TOKENS).sub(lambda found: "]" * len(found[0]), text)
    if not (tried := _tried(text)):
        return []
    lower, taken, is_taken = text.lower(), list[Spotted](), bytearray(len(text))
    for identifier in tried:
        last = 0
        for start, end in sorted(_spans(identifier, text, lower)):
            if start >= last and not (identifier.letter == "R" and any(is_taken[start:end])):
                taken.append(Spotted(identifier, start, end))
                is_taken[start:end] = b"\1" * (end - start)
                last = end
    return sorted(taken, key=lambda one: (one.start, one.identifier.letter))


def _tried(text: str) -> tuple[Identifier, ...]:
    """Most texts have neither a digit nor a capital inside a sentence: they hold none of them."""
    has_digit = _DIGIT.search(text) is not None
    if has_digit and _NUMBER.search(text):
        return _ALL
    if "inet" in text:  # ninety, nineties
        return _FEW_DIGITS if has_digit else _AGE_IN_WORDS
    if _INSIDE.search(text) or _holds_any(text, _ALONE) or _ENDING.search(text):
        return _FEW_DIGITS if has_digit else _NO_DIGIT
    return _FEW_DIGITS if has_digit and (_TWO_DIGITS.search(text) or _holds_any(text.lower(), _MONTHS)) else ()


def _spans(identifier: Identifier, text: str, lower: str) -> list[tuple[int, int]]:
    spans = []
    for regex, needs in identifier.patterns:
        if not needs or _holds_any(lower, needs):
            spans += [match.span() for match in _compiled(regex).finditer(text)]
    if spans and identifier.letter == "A":
        return [span for span in spans if _is_name(text[slice(*span)], text)]
    return spans


def _holds_any(lower: str, words: tuple[str, ...]) -> bool:
    for word in words:  # noqa: SIM110 - any() over a generator takes twice as long
        if word in lower:
            return True
    return False


def _is_name(words: str, text: str) -> bool:
    """Not an acronym, not a known eponym, and not a word of a text that is all in capitals; after a title always."""
    if words.isupper():
        return words not in ACRONYMS and not _is_in_capitals(text)
    parts = words.split()
    if parts[0] in _TITLE_WORDS:
        return True
    if len(after := re.split(r"[:=]\s*", words)) == 2:  # "patient: Male."
        return after[1].rstrip(".") not in NO_NAMES - SURNAMES
    return len(parts) != 2 or not parts[0].isalpha() or not _is_eponym(parts)


def _is_eponym(parts: list[str]) -> bool:
    """Surnames that many people have are one only beside another word of the list: Hill Sachs, not Grace Hill."""
    return NO_NAMES.issuperset(parts) or not (NO_NAMES - SURNAMES).isdisjoint(parts)


@lru_cache(maxsize=8)  # asked for each word in capitals
def _is_in_capitals(text: str) -> bool:
    words = [word for word in text.split() if word.isalpha()]
    return len(words) > 3 and 2 * sum(word.isupper() for word in words) > len(words)


# --- places, marked or masked ---
# After a title, "signed by" and the like, the whole name goes: initials, further names, titles, words in capitals.
_BY = r"(?i:patient|name|dictated|signed|reported|referred|interpreted|read)"
_INTRODUCED = re.compile(rf"(?:{_BY}|{'|'.join(_TITLE_WORDS)})\b")
_OPEN = re.compile(r"(?:^|[\s:=])(?:[A-Z]|Dr|Mr|Mrs|Ms|Prof)\.?$|[^.]$")  # ends in an initial or a title, or in no stop
_NEXT = rf"(?:{_UPPER}\.|{_UPPER}{{2,}}\b|(?<!, ){_UPPER}[\w'’-]*+)(?!\s*:)"
_MORE = re.compile(rf"(?:[ \t]+(?:v[ao]n|de[rn]?|la)\b)*,?[ \t]+{_NEXT}")


def marked(text: str) -> list[TextPart]:
    """The text in pieces, each place apart. The full stop of a sentence belongs to no place."""
    parts, at = list[TextPart](), 0
    for identifier, start, end in _places(text):
        parts += [TextPart(text[at:start]), TextPart(text[start:end], identifier)]
        at = end
    return [part for part in (*parts, TextPart(text[at:])) if part.text]


def masked(text: str) -> str:
    """The text with a token for each place. Other places may show once these are gone: they go too."""
    for _round in range(5):
        text = "".join(part.identifier.token if part.identifier else part.text for part in marked(text))
    return text


def _places(text: str) -> list[Spotted]:
    """Apart from each other, names whole."""
    places, last = list[Spotted](), 0
    for identifier, start, end in spot_identifiers(text):
        if end > last and identifier.letter == "A" and _INTRODUCED.match(text, start, end):
            while _OPEN.search(text[max(start, end - 9) : end]) and (more := _MORE.match(text, end)):
                end = more.end()
        end = start + len(text[start:end].rstrip(" \t\r\n.(-"))
        if end > last:
            places.append(Spotted(identifier, max(start, last), end))
            last = end
    return places
