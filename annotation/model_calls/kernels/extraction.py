r"""A question as a prompt shows it, and which option an answer names: one stated rule with a version. Pure.

The rule, ``extract-2``. What a model thinks aloud is not its answer, nor are marks of its chat template
(``annotation.endpoints.kernels.completions``); a text that goes on with a question of its own ends there, where it has
answered before. The first of the following that is in the answer decides:

1. an answer in a field of JSON, in a tag or in a box: ``{"answer": "B"}``, ``<answer>B</answer>``, ``\boxed{B}``; one
   that names no option decides nothing;
2. the whole answer is a letter, with or without brackets, quotes, stars, a mark or a confidence: ``(B)``, ``B, 85%``;
3. what stands behind "final answer" and a verb or colon: a letter, or the wording of exactly one option;
4. the same behind "answer", "correct option", "diagnosis" and the like, in several languages;
5. a letter behind "so", "thus", "therefore" at the end of a sentence;
6. a letter at the start of a line with a mark behind it (``B. Pneumothorax``, ``- B) ...``), alone in its line, or
   before the wording of its option; of several the one that is called correct where the others are called incorrect;
7. a letter that is called right: "B is most likely";
8. a letter behind "option", "choice", "I choose", "it is", or in brackets, unless it is denied;
9. the whole answer is the wording of exactly one option.

Where the step that decides names several letters, the last one counts if a word of correction ("wait", "actually")
stands before it; else the answer names two, and no option is taken (``names_two``). A letter that is no option is none.
A letter in running text is none: "Kerley B lines" is not B, "A pneumothorax" is not A, and "The answer is B" is not A.
Of an answer of more than 20,000 characters the first and the last 10,000 are looked at: that is the budget of one
answer, and no pattern goes over a character again and again, so that the time grows with the length alone.

``letter-1`` is the rule before it, by which older runs were read. ``whole-1`` knows a letter alone, in a tag or a box,
and takes none out of words: nothing is published by it; it tells how much of a result hangs on the reading of words.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from annotation.endpoints.kernels.completions import spoken
from annotation.model_calls.kernels import letter_1
from annotation.model_calls.kernels.letter_1 import (
    BLANK,
    BOXED_TEXT,
    BREAKS,
    DENIED_BEHIND,
    INNER,
    SPACES,
    shorter,
    without_marks,
)

RULE = "extract-2"
LETTERS = letter_1.LETTERS
HALF = 10_000  # characters looked at from either end of a long answer
LONGEST_WORDING = 2_000  # characters of an answer that can be the wording of an option
SHORT = 60  # characters of an answer that is a letter with marks and a confidence
TWO = frozenset("12")  # what no letter is: the answer names two

_OPEN, _CLOSE = r"[\s(\[{<\"'“‘«*_`$]*", r"[\s)\]}>\"'”’»*_`$]*"
_ONE = r"([a-z])(?![a-z0-9_\u00c0-\u024f\u0370-\u052f]|['’][a-z]|-[a-z])"
# Behind a letter: the end, a mark, or a word before which it cannot have been an article.
_WORDS = (
    r"because|since|as|although|though|but|and|or|is|was|would|with|due|based|given|for|over|rather|instead|not|to|in"
    r"|on|of|from|by|if|when|which|that"
)
_AFTER = rf"(?=[^a-z0-9_\s]|\s*$|\s*\n|\s+(?:{_WORDS})\b)"
_LETTER = rf"{_OPEN}{_ONE}{_CLOSE}"

# A noun of an answer, what may stand between it and its verb, and what between that and a letter or a wording.
_NOUN = (
    r"\b(?:answer|ans|option|choice|response|solution|diagnosis|selection|prediction|conclusion|result|output|letter|pick|correct"
    r"|réponse|reponse|choix|antwort|lösung|respuesta|opción|resposta|opção|alternativa|risposta|opzione|svar(?:et)?|antwoord|vastaus"
    r"|odpowiedź|cevap|jawaban|ответ|вариант)\b"
    r"|答案|選項|选项|回答|答え|正解|정답|답|الإجابة|الجواب|उत्तर|đáp án"
)
_BETWEEN = (
    r"(?:\s+(?:choice|option|letter|answer|correcta?|correcte|correta|corretta|corregida|juste|giusta|certa|exacte"
    r"|richtige|الصحيحة|here|to\s+(?:the|this)\s+question)\b)?"
)
_HEDGE = r"(?:most\s+likely|likely|probably|therefore|thus|clearly|indeed|best|option|choice|letter)"
_VERB = (
    rf"(?:\s*(?:(?:{_HEDGE}\s+)?(?:is|was|are|(?:would|should|must|will)\s+(?:{_HEDGE}\s+)?be|(?:appears|seems)"
    rf"\s+to\s+be|est|ist|lautet|wäre|es|é|è|är|er|on|jest|to)\b(?:\s+{_HEDGE}\b)?\s*:?|应该是|應該是|是|为|為|は|が|은|는"
    r"|이|هي|هو|:|=|->|→|=>|⇒|(?<=\s)[-–—](?=\s))\s*)"
)
_ARTICLE = (
    r"(?:(?:the|la|le|el|die|der|a|o|l['’])\s*(?=[\s(\"'*`]*[a-z]\b)|(?:the\s+)?(?:correct\s+|best\s+)?(?:option|choice"
    r"|letter|answer|opción|opção|opzione|buchstabe|lettre|letra|lettera)\b\s*:?)?"
)
_QUOTES = r"[\"'*_`.]*+"

_symbols = re.compile(r"[\u2190-\u2191\u2193-\u21d1\u21d3-\u21ff\u2300-\u25c0\u25c2-\u27bf\U0001f000-\U0001faff]")
_goes_on = re.compile(
    r"\n\s*[#*]*\s*(?:(?:next\s+)?question|q|user|human|instruction)\b[\s\d*]{0,8}[:.]"
    r"|<\|im_start\|>\s*user|<start_of_turn>\s*user|<\|start(?:_header_id)?\|>\s*user",
    re.IGNORECASE,
)
_field_of = re.compile(
    r"(?<![\\\w])[\"'](?:(?:final|correct|selected|chosen|predicted|model|best)[_ ]?)?(?:answer|option|choice|letter"
    r"|prediction|response)(?:[_ ](?:letter|option|choice))?[\"']\s*:\s*"
    r"(?:\{\s*[\"'](?:letter|option|choice|answer|value|key)[\"']\s*:\s*)?"
    r"(?:\"((?:[^\"\\\n]|\\.)*)\"|'([^'\n]*+)'|([a-z])\b)",
    re.IGNORECASE,
)
_TAG = r"(?:final[_ ]?)?(?:answer|option|choice|conclusion)"
_tagged = re.compile(
    rf"<{_TAG}>(.*?)(?=</?{_TAG}>|\Z)(?:</{_TAG}>)?|\\boxed\s*\{{((?:[^{{}}]|\{{[^{{}}]*\}})*)\}}",
    re.DOTALL | re.IGNORECASE,
)
_whole = re.compile(
    r"(?:(?:i\s+(?:think|believe|guess|say)(?:\s+it(?:\s+is|['’]s))?|(?:most\s+)?likely|probably|definitely|certainly|sure(?:ly)?)\W+)?"
    rf"{_OPEN}([A-Za-z]){_CLOSE}[.,:;!)]*+{_CLOSE}(?:[(\[]?\s*(?:(?:confidence|probability|certainty)\W*)?\d{{1,3}}"
    rf"(?:\.\d+)?\s*%\s*(?:confiden(?:t|ce)|sure|certain)?[)\]]?\.?)?",
    re.IGNORECASE,
)
_pair = re.compile(
    rf"(?:\A|\b(?:both|either)\s+(?:option\s+)?){_OPEN}[a-d]{_CLOSE}(?:or|and|/|,|&)\s*(?:option\s+)?{_OPEN}[a-d]\b"
)
_repeated = re.compile(r"([A-Z])(?:\s+\1)+")
_noun = re.compile(_NOUN)
_behind = re.compile(rf"{_QUOTES}\s*(?:\([^()]*\)\s*)?{_BETWEEN}{_QUOTES}{_VERB}")
_letter_at = re.compile(rf"{_QUOTES}\s*{_ARTICLE}{_LETTER}{_AFTER}")
_not_but = re.compile(rf"not\s+{_LETTER}[,;]?\s*(?:but|it\s+is|rather)\s+(?:rather\s+)?{_ARTICLE}{_LETTER}{_AFTER}")
_bare = re.compile(rf"(?:(?<=answer)|(?<=antwort)|(?<=réponse)|(?<=\bans))(?=[\s.(\[*_`])\.?{_LETTER}{_AFTER}")
_in_brackets = re.compile(r"\W{1,5}[(\[]([a-z])[)\]]")
_chosen_cjk = re.compile(
    r"(?:故选|故選|应选|應選|选择|選擇|选(?!项|择)|選(?!項|択|擇)|選ぶのは)\s*[:：]?\s*[(\[]?([a-z])(?![a-z])"
)
_concluded = re.compile(
    rf"(?:^|[\s(*])(?:so|thus|therefore|hence|accordingly|donc|also|daher|por\s+tanto|quindi)\b[,:]?\s+(?:it\s+is\s+|it's\s+)?"
    rf"{_ARTICLE}{_LETTER}(?=[.!]?{_CLOSE}(?:$|\n))"
)
_leading = re.compile(
    r"^[ \t]*(?:(?:[-+•#>]|\*(?=\s))+[ \t]*|\d{1,2}[.)][ \t]+)?[(\[\"'*_`]*([A-Za-z])"
    r"(?:[*_`\"']*[)\]:.][)\]*_`\"']*(?=\s|$|[A-Z][a-z]{2})"  # B. text
    r"|[*_`\"']*\s[-–—=|]\s|,\s"  # B - text, B, text
    r"|(?<=[A-Z])\s+(?=(?:because|since|as|although)\b)"
    r"|[*_`\"')\]]*[ \t]*$)",  # alone in its line
    re.MULTILINE,
)
_inline = re.compile(
    r"(?<=\s)[(\[]?([A-Z])[)\]](?=\s)|\b([A-Z])\W{1,3}\d{1,3}\s*%"
)  # a further option in the same line
_verdict = re.compile(r"[^\w\n]*(correct|right|true)\b|[^\w\n]*(?:incorrect|wrong|false|not|excluded|ruled\s+out)\b")
_called_right = re.compile(
    r"(?<![\w-])([A-Z])[)\]*\"'`]*\s+(?:best\s+(?:fits|describes|matches|explains|answers)\b|(?:fits|describes|matches)\s+best\b"
    r"|(?:is|seems|appears|remains)\s+(?:to\s+be\s+)?(?:the\s+)?(?:clearly\s+)?"
    r"(?:most\s+(?:likely|probable|appropriate|accurate)|correct\b|right\b(?!\s+[a-z]*\s*(?:lung|side|sided|hilum))|best\b|better\b"
    r"|(?:answer|correct)\b))"
)
_named = re.compile(
    r"\b(?:option|choice|letter|(?:i(?:['’]d|['’]ll|\s+would|\s+will|\s+am|['’]m)?\s+(?:choos(?:e|ing)|select(?:ing)?|pick(?:ing)?"
    r"|answer|say|go(?:ing)?\s+with|opt(?:ing)?\s+for)|it\s+(?:is|must\s+be|has\s+to\s+be|should\s+be)|it's|(?:^|\n)\W*(?:select|choose|pick))"
    rf"(?:\s+(?:option|choice|letter))?)\s*:?\s+{_LETTER}{_AFTER}"
)
_bracketed = re.compile(r"(?<!\w)[(\[]([a-z])[)\]]")
_denied_before = re.compile(
    r"(?:\bnot|n't|n’t|\brather\s+than|\bneither|\bnor|\bexcept|\bexcluding)[^\w.!?]+(?:\w+[^\w.!?]+){0,2}$"
)
_second = re.compile(
    rf"{_CLOSE}(?:(?:[,;/&]|\b(?:or|and|und|oder|ou|et|o|y|e)\b)\s*){{1,3}}(?:option\s+)?{_OPEN}{_ONE}{_CLOSE}+"
    rf"(?=\W*$|\s*[,;/.&]|\s*(?:or|and)\b)|\.\s*{_ONE}(?=\W*$)",
    re.IGNORECASE,
)
_corrects = re.compile(
    r"\b(?:wait|actually|correction|corrected|mistake|mistaken|error|sorry|on\s+second\s+thoughts?|reconsider(?:ing)?"
    r"|scratch\s+that|let\s+me\s+(?:re|correct)\w*|revis(?:e|ed|ing)|upon\s+(?:further|closer)|instead|no,)"
)
_ends = re.compile(r"[.,;:!?)\]}\"'”’*_`<\n]|$|\s+[(\[–—-]|\s+(?:because|since|as|due|based|given)\b")


class Named(NamedTuple):
    """A letter at its place in the text."""

    letter: str
    at: int


def extract(raw: str, options: Sequence[str] = ()) -> str:
    """The letter that the answer names, "" where it names none. ``options``: their wordings, in the order that it saw.

    The letters that can be named are those of the options, or A to D where none are given.
    """
    return _one_of(_found(raw, tuple(options)), options)


def names_two(raw: str, options: Sequence[str] = ()) -> bool:
    """Whether no option is taken because the answer names more than one."""
    return _found(raw, tuple(options)) == TWO


RULES: Mapping[str, Callable[[str, Sequence[str]], str]] = {
    RULE: extract,
    letter_1.RULE: letter_1.extract,
    letter_1.STRICT: letter_1.extract_whole,
}


def _one_of(found: frozenset[str], options: Sequence[str]) -> str:
    letters = LETTERS[: len(options)] if options else LETTERS
    letter = next(iter(found)) if len(found) == 1 else ""
    return letter if letter in letters else ""


def _found(raw: str, options: tuple[str, ...]) -> frozenset[str]:
    """One letter, TWO, or nothing."""
    return _read_once(raw, options) if len(raw) <= SHORT else _read(raw, options)


def _read(raw: str, options: tuple[str, ...]) -> frozenset[str]:
    """An answer before a further question of the model decides by itself."""
    text = _looked_at(raw)
    further = _goes_on.search(text, 1)
    if further and (found := _decided(text[: further.start()].rstrip(), options)):
        return found
    return _decided(text, options)


_read_once = lru_cache(maxsize=4096)(_read)  # of short ones, which many questions share


def _decided(text: str, options: tuple[str, ...]) -> frozenset[str]:
    small = text.lower()
    if len(small) != len(text):  # a letter of two: places would not be the same in both
        text = small
    for step in (_in_marks, _as_whole, _as_final, _as_stated, _as_concluded, _at_lines, _as_right, _as_named):
        if found := step(text, small, options):
            return found
    return _worded(text, options) or (TWO if _pair.search(small[:SHORT]) else frozenset())


def _looked_at(raw: str) -> str:
    """What was said, without full-width letters and runs of white space, over which the patterns would be slow."""
    text = raw if len(raw) <= 2 * HALF else f"{raw[:HALF]}\n{raw[-HALF:]}"
    text = spoken(text)
    if not text.isascii():
        text = _symbols.sub(" ", unicodedata.normalize("NFKC", text))
    if not text.isprintable() or "  " in text:
        text = BREAKS.sub("\n", SPACES.sub(" ", text))
    return BLANK.sub(shorter, text).strip()


def _in_marks(text: str, _small: str, options: tuple[str, ...]) -> frozenset[str]:
    found = list[Named]()
    if "{" in text:
        for field in _field_of.finditer(text):
            found += _within(field[1] or field[2] or field[3] or "", field, options)
    if not found and ("<" in text or "\\boxed" in text):
        for mark in _tagged.finditer(text):
            found += _within(BOXED_TEXT.sub(r"\1", mark[1] if mark[1] is not None else mark[2]), mark, options)
    return _last_of(found, text.lower())


def _within(inner: str, mark: re.Match[str], options: tuple[str, ...]) -> Iterator[Named]:
    """What a field, a tag or a box names; two where it names two."""
    part = inner.strip()
    for letter in sorted(_decided(part, options) if part != mark.string else ()):
        yield Named(letter, mark.start())


def _as_whole(text: str, _small: str, _options: tuple[str, ...]) -> frozenset[str]:
    whole = (_whole.fullmatch(text) or _repeated.fullmatch(text)) if len(text) <= SHORT else None
    return frozenset({whole[1].upper()}) if whole else frozenset()


def _as_final(text: str, small: str, options: tuple[str, ...]) -> frozenset[str]:
    if "final" not in small:
        return frozenset()
    return _stated(small, options, lambda noun: small.endswith("final", max(0, noun.start() - 8), noun.start() - 1))


def _as_stated(text: str, small: str, options: tuple[str, ...]) -> frozenset[str]:
    return _stated(small, options, lambda _noun: True)


def _stated(small: str, options: tuple[str, ...], counts: Callable[[re.Match[str]], bool]) -> frozenset[str]:
    """Letters and wordings behind nouns of an answer, in the order of the text."""
    found = list[Named]()
    for noun in _noun.finditer(small):
        if counts(noun):
            found += _behind_noun(small, noun.end(), options)
        if len({one.letter for one in found}) > 2:
            break
    found += (Named(one[1].upper(), one.start()) for one in _chosen_cjk.finditer(small))
    return _last_of(sorted(found, key=lambda one: one.at), small)


def _behind_noun(small: str, end: int, options: tuple[str, ...]) -> Iterable[Named]:
    verb = _behind.match(small, end)
    if verb is None:
        bare = _bare.match(small, end)
        return _letters([bare]) if bare else ()
    if denied := _not_but.match(small, verb.end()):
        return [Named(denied[2].upper(), denied.start(2))]
    if letter := _letter_at.match(small, verb.end()):
        return _letters([letter])
    return _wording_at(small, verb.end(), options)


def _wording_at(small: str, place: int, options: tuple[str, ...]) -> list[Named]:
    """The option whose wording stands here, and the letter in brackets behind it."""
    start = INNER.search(small, place, place + 12)
    if start is None:
        return []
    fit = [
        (len(plain), letter)
        for letter, plain in _plain_options(options)
        if plain and small.startswith(plain, start.start()) and _ends.match(small, start.start() + len(plain))
    ]
    longest = max(fit, default=(0, ""))
    if sum(length == longest[0] for length, _letter in fit) != 1:
        return []
    named = [Named(longest[1], start.start())]
    if beside := _in_brackets.match(small, start.start() + longest[0]):
        named.append(Named(beside[1].upper(), beside.start()))
    return named


def _as_concluded(_text: str, small: str, _options: tuple[str, ...]) -> frozenset[str]:
    return _last_of(list(_letters(_concluded.finditer(small))), small)


def _at_lines(text: str, small: str, options: tuple[str, ...]) -> frozenset[str]:
    """Of several letters the one that is called correct, where every other one is called incorrect."""
    lines = list(_leading.finditer(text))
    if not lines:
        first = re.match(r"[*_`]*([A-Z])[*_`]*\s+", text)
        own = dict(_plain_options(options)).get(first[1], "") if first else ""
        is_own = bool(first and own and small.startswith(own, first.end()))
        return frozenset({first[1]}) if first and is_own else frozenset()
    found = list(_letters(lines))
    if len({one.letter for one in found}) > 1:
        told = [(line[1].upper(), _verdict.match(small, line.end())) for line in lines]
        right = {letter for letter, verdict in told if verdict and verdict[1]}
        if len(right) == 1 and all(verdict for _letter, verdict in told):
            return frozenset(right)
    found += (Named(match[1] or match[2], match.start()) for match in _inline.finditer(text))
    return _last_of(found, small)


def _as_right(text: str, small: str, _options: tuple[str, ...]) -> frozenset[str]:
    return _last_of(list(_letters(_called_right.finditer(text))), small)


def _as_named(_text: str, small: str, _options: tuple[str, ...]) -> frozenset[str]:
    found = sorted([*_named.finditer(small), *_bracketed.finditer(small)], key=lambda match: match.start())
    return _last_of(list(_letters(match for match in found if not _is_denied(match))), small)


def _letters(matches: Iterable[re.Match[str]]) -> Iterator[Named]:
    """The letter of each match, and of another that follows it: "A or C" names two.

    A letter that is no option, and a second one, are enough where many follow: else "y, y, y, ..." would be read from
    each of its letters to the end.
    """
    for match in matches:
        place = match.lastindex or 1  # of the one group that matched
        yield Named(match[place].upper(), match.start(place))
        second = _second.match(match.string, match.end(place))
        if second is not None:
            yield Named(second[second.lastindex or 1].upper(), match.start(place))


def _last_of(found: Sequence[Named], small: str) -> frozenset[str]:
    """The one letter; of several the last, where a word of correction stands before it; else TWO."""
    letters = {one.letter for one in found}
    if len(letters) < 2:
        return frozenset(letters)
    last = found[-1]
    others = [one.at for one in found if one.letter != last.letter]
    same_place = any(one.at == last.at and one.letter != last.letter for one in found)
    if not same_place and _corrects.search(small, max(others), last.at):
        return frozenset({last.letter})
    return TWO


def _is_denied(match: re.Match[str]) -> bool:
    before = match.string[max(0, match.start() - 40) : match.start()]
    return bool(_denied_before.search(before) or DENIED_BEHIND.match(match.string, match.end()))


def _worded(text: str, options: tuple[str, ...]) -> frozenset[str]:
    """By step 9."""
    plain = without_marks(text) if len(text) <= LONGEST_WORDING else ""
    found = {letter for letter, option in _plain_options(options) if plain and option == plain}
    return frozenset(found) if len(found) == 1 else frozenset()


@lru_cache(maxsize=1024)
def _plain_options(options: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    return tuple((letter, without_marks(option)) for letter, option in zip(LETTERS, options, strict=False))


# --- the answer within a JSON object that a prompt asked for; any other text is the answer itself ---
ANSWER_FIELD_RULE = "answer-field-1"  # change the version with the rule: stored attempts name it
ANSWER, EXPLANATIONS = "answer", ("explanation", "model_explanation")


def answer_in(text: str) -> str:
    """An explanation that comes before the answer may name other options: only the field is asked for the letter."""
    return _field(text, (ANSWER,)) or text


def explanation_in(text: str) -> str:
    """Empty where the text is no JSON object."""
    return _field(text, EXPLANATIONS)


def _field(text: str, names: tuple[str, ...]) -> str:
    if not text.lstrip().startswith("{"):
        return ""
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError):
        return ""
    return next((fields[name] for name in names if isinstance(fields.get(name), str)), "")


def rotated(options: Sequence[str], rotation: int) -> list[str]:
    """So many options of the start are moved to the end."""
    return [*options[rotation:], *options[:rotation]]


def canonical(letter: str, rotation: int) -> str:
    """The letter in the bank of what a model calls ``letter``; empty stays empty."""
    return LETTERS[(LETTERS.index(letter) + rotation) % len(LETTERS)] if letter else ""


def question_values(stem: str, options: Sequence[str], rotation: int = 0) -> dict[str, str]:
    """The variables of a prompt that a question fills."""
    shown = dict(zip(LETTERS, rotated(options, rotation), strict=True))
    lines = "\n".join(f"{letter}. {option}" for letter, option in shown.items())
    return {"question": stem, "options": lines} | {f"option_{letter.lower()}": text for letter, text in shown.items()}
