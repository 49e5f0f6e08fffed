r"""The rule of extraction before ``extract-2``, by which stored runs were read: it is not changed any more. Pure.

The rule, ``letter-1``. What a model wrote inside ``<think>`` is not its answer. The first of the following that is in
the answer decides, and decides alone:

1. an answer in a tag or a box: ``<answer>B</answer>``, ``\boxed{B}``;
2. the whole answer is a letter, with or without brackets, quotes, stars or a full stop: ``(B)``, ``**b**``;
3. a letter behind "final answer";
4. a letter behind "answer", "correct option", "best choice" and the like with "is" or a colon, in several languages;
5. a letter at the start of a line with a mark behind it (``B. Pneumothorax``, ``B) ...``) or alone in its line;
6. a letter behind "option", "choice", "letter", "I choose", "it is", or in brackets, unless it is denied;
7. the whole answer is the wording of exactly one option.

Where the step that decides names two different letters, or one that is no option, there is no answer. A letter in
running text is none: "Kerley B lines" is not B, "A pneumothorax" is not A, and "The answer is B" is not A. Of an
answer of more than 20,000 characters the first and the last 10,000 are looked at: that is the budget of one answer, and
no pattern goes over a character again and again, so that the time grows with the length alone.

A second rule, ``whole-1``, knows steps 1 and 2 alone: it takes no letter out of words. Nothing is published by it; it
tells how much of a result hangs on the reading of words.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache

RULE, STRICT = "letter-1", "whole-1"
LETTERS = "ABCD"
HALF = 10_000  # characters looked at from either end of a long answer
LONGEST_WORDING = 2_000  # characters of an answer that can be the wording of an option
SHORT = 40  # characters that a bare letter can have around it
_POSSIBLE = frozenset(LETTERS)
NOTHING = frozenset({""})  # a step that decides that there is no answer

_OPEN, _CLOSE = r"[\s(\[{\"'“‘«*_`$]*", r"[\s)\]}\"'”’»*_`$]*"
_ONE = r"([a-z])(?!\w|['’]\w)"
# Behind a letter: the end, a mark, or a word before which it cannot have been an article.
_WORDS = (
    r"because|since|as|although|though|but|and|or|is|was|would|with|due|based|given|for|over|rather|instead|not|to|in"
    r"|on|of|from|by|if|when|which|that"
)
_AFTER = rf"(?=[^\w\s]|\s*$|\s*\n|\s+(?:{_WORDS})\b)"
_NOUN = r"(?:answer|option|choice|response|réponse|reponse|antwort|respuesta|resposta|risposta|答案|ответ)"
_VERB = r"(?:(?:is|was|would\s+be|should\s+be|must\s+be|est|ist|es|é|è|是)\s*:?|:|=)"
_QUOTES = r"[\"'*_`]*+"
_LETTER = rf"{_OPEN}{_ONE}{_CLOSE}"
_THE = r"(?:\s*(?:the\s+)?(?:option|choice|letter|answer)\b\s*:?)?"

SPACES, BREAKS = re.compile(r"[^\S\n]{2,}"), re.compile(r"\s*\n\s*")
# In small letters, which is much quicker than looking without case; _leading, _inline and _called_right see all.
_thought = re.compile(r"<think(?:ing)?>(?:(?!<think).)*?</think(?:ing)?>", re.DOTALL | re.IGNORECASE)
_tagged = re.compile(
    r"<answer>((?:(?!<answer>).)*?)</answer>|\\boxed\s*\{((?:[^{}]|\{[^{}]*\})*)\}", re.DOTALL | re.IGNORECASE
)
BOXED_TEXT = re.compile(r"\\(?:text|textbf|mathrm|mathbf)\s*\{([^{}]*)\}")
_whole = re.compile(rf"{_OPEN}([A-Za-z]){_CLOSE}[.,:;!)]*{_CLOSE}")
_final = re.compile(rf"\bfinal\s+{_NOUN}{_QUOTES}\s*{_VERB}?{_THE}{_LETTER}{_AFTER}")
_noun = re.compile(_NOUN)
_stated = re.compile(  # behind a noun
    rf"{_QUOTES}\s*(?:\([^()]*\)\s*)?{_VERB}{_THE}{_LETTER}{_AFTER}"
    rf"|(?<=answer)\s+{_ONE}{_AFTER}|(?<=antwort)\s+{_ONE}{_AFTER}|(?<=réponse)\s+{_ONE}{_AFTER}"
)
_leading = re.compile(
    r"^[ \t]*[(\[\"'*_`]*([A-Za-z])"
    r"(?:[*_`\"']*[)\]:.][)\]*_`\"']*(?=\s|$|[A-Z][a-z]{2})"  # B. text
    r"|[*_`\"']*\s[-–—]\s|,\s"  # B - text, B, text
    r"|(?<=[A-Z])\s+(?=(?:because|since|although)\b)"
    r"|[*_`\"')\]]*[ \t]*$)",  # alone in its line
    re.MULTILINE,
)
_inline = re.compile(r"(?<=\s)[(\[]?([A-Z])[)\]](?=\s)")  # a further option in the same line
_named = re.compile(
    r"\b(?:option|choice|letter|(?:i\s+(?:would\s+)?(?:choose|select|pick|answer)|i\s+go\s+with|it\s+is|it's)"
    rf"(?:\s+(?:option|choice|letter))?)\s+{_LETTER}{_AFTER}"
)
_called_right = re.compile(r"(?<!\w)([A-Z])\s+is\s+(?:the\s+)?(?:most\s+likely|correct|right|best)\b")
_bracketed = re.compile(r"(?<!\w)[(\[]([a-z])[)\]]")
_denied_before = re.compile(
    r"(?:\bnot|n't|n’t|\brather\s+than|\bneither|\bnor|\bexcept|\bexcluding)\W+(?:\w+\W+){0,2}$"
)
DENIED_BEHIND = re.compile(r"\s*(?:is|was|are|can\s+be)\s+(?:not|incorrect|wrong|false|excluded|ruled|unlikely)\b")
_second = re.compile(
    rf"{_CLOSE}(?:(?:[,;/&]|\b(?:or|and|und|oder|ou|et|o|y|e)\b)\s*)+(?:option\s+)?{_OPEN}{_ONE}{_CLOSE}+"
    rf"(?=\W*$|\s*[,;/.&]|\s*(?:or|and)\b)|\.\s*{_ONE}(?=\W*$)",
    re.IGNORECASE,
)
BLANK = re.compile(r"\s{65,}")  # longer than what any step looks back over
INNER = re.compile(r"[^\W_]")


def extract(raw: str, options: Sequence[str] = ()) -> str:
    """The letter that the answer names, "" where it names none. ``options``: their wordings, in the order that it saw.

    The letters that can be named are those of the options, or A to D where none are given.
    """
    letter = _letter_of(raw)
    return _allowed(_worded(raw, options) if letter is None else letter, options)


def extract_whole(raw: str, options: Sequence[str] = ()) -> str:
    """The same by the rule ``whole-1``."""
    text = _looked_at(raw)
    found = _in_tags(text) or _as_whole(text)
    return _allowed(next(iter(found)) if len(found) == 1 else "", options)


def _allowed(letter: str, options: Sequence[str]) -> str:
    letters = LETTERS[: len(options)] if options else LETTERS
    return letter if letter and letter in letters else ""


@lru_cache(maxsize=4096)
def _letter_of(raw: str) -> str | None:
    """By steps 1 to 6: the letter, "" where a step decides that there is none, None where no step decides."""
    text = _looked_at(raw)
    for step in (_in_tags, _as_whole, _as_final, _as_stated, _at_lines, _as_named):
        found = step(text)
        if found:
            return next(iter(found)) if len(found) == 1 else ""
    return None


def _looked_at(raw: str) -> str:
    """Without thoughts, full-width letters and runs of white space, over which the patterns would be slow."""
    text = raw if len(raw) <= 2 * HALF else f"{raw[:HALF]}\n{raw[-HALF:]}"
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    if not text.isprintable() or "  " in text:
        text = BREAKS.sub("\n", SPACES.sub(" ", text))
    text = text.strip()
    return BLANK.sub(shorter, _thought.sub(" ", text)).strip() if "<think" in text.lower() else text


def shorter(blank: re.Match[str]) -> str:
    return blank[0][:32] + "\n" * ("\n" in blank[0]) + blank[0][-32:]


def _in_tags(text: str) -> frozenset[str]:
    if "<answer>" not in text.lower() and "\\boxed" not in text:
        return frozenset()
    inner = (BOXED_TEXT.sub(r"\1", tag or box) for tag, box in _tagged.findall(text))
    return frozenset(_letter_of(part) or "" for part in inner)


def _as_whole(text: str) -> frozenset[str]:
    whole = _whole.fullmatch(text) if len(text) <= SHORT else None
    return frozenset({whole[1].upper()}) if whole else frozenset()


def _as_final(text: str) -> frozenset[str]:
    small = text.lower()
    return _letters(_final.finditer(small)) if "final" in small else frozenset()


def _as_stated(text: str) -> frozenset[str]:
    small = text.lower()
    behind = (_stated.match(small, noun.end()) for noun in _noun.finditer(small))
    return _letters(filter(None, behind))


def _at_lines(text: str) -> frozenset[str]:
    found = _letters(_leading.finditer(text))
    return found | frozenset(match[1] for match in _inline.finditer(text)) if found else found


def _as_named(text: str) -> frozenset[str]:
    small = text.lower()
    found = [*_named.finditer(small), *_bracketed.finditer(small), *_called_right.finditer(text)]
    kept = _letters(match for match in found if not _is_denied(match))
    return kept or (NOTHING if found else kept)


def _letters(matches: Iterable[re.Match[str]]) -> frozenset[str]:
    """The letter of each match, and of another that follows it: "A or C" names two.

    A letter that is no option, and a second one, decide: no more is read. Else "y, y, y, ..." would be read from each
    of its letters to the end.
    """
    found: set[str] = set()
    for match in matches:
        place = match.lastindex or 1  # of the one group that matched
        found.add(match[place].upper())
        if len(found) > 1 or not found <= _POSSIBLE:
            break
        second = _second.match(match.string, match.end(place))
        if second is not None:
            found.add(second[second.lastindex or 1].upper())
    return frozenset(found)


def _is_denied(match: re.Match[str]) -> bool:
    before = match.string[max(0, match.start() - 40) : match.start()]
    return bool(_denied_before.search(before) or DENIED_BEHIND.match(match.string, match.end()))


def _worded(raw: str, options: Sequence[str]) -> str:
    """By step 7."""
    plain = without_marks(raw) if len(raw) <= LONGEST_WORDING else ""
    alike = [
        (letter, option) for letter, option in zip(LETTERS, options, strict=False) if len(plain) <= len(option) + 8
    ]
    found = [letter for letter, option in alike if plain and without_marks(option) == plain]
    return found[0] if len(found) == 1 else ""


def without_marks(text: str) -> str:
    """Without case, without marks at the ends, with single spaces."""
    text = " ".join(text.casefold().split())
    first, last = INNER.search(text), INNER.search(text[::-1])
    return text[first.start() : len(text) - last.start()] if first and last else ""
