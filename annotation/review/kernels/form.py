"""The review form: parsing what a page sends, and the rules that make a step complete. Pure.

Nothing is preselected and nothing is guessed: a value that is missing or unknown is a Problem with its field, a code
and a sentence. ``Cannot judge`` is a value of its own, never a 3.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct, field

from annotation.enums import Degree, Difficulty, Disagreement, Flag, GradeName, OptionLetter, Verdict, _
from annotation.review.kernels.form_design import FOLLOWING, GRADES, PAPER, FormDesign
from annotation.review.kernels.transitions import ReviewRefused

CANNOT_JUDGE = "cannot_judge"
GRADE_NEEDS_WORDS = 3  # a grade of this or less needs a flag or a comment
TEXT_LIMIT = 5000
CATEGORY_LIMIT = 200
AGAINST_KEY = frozenset({Flag.KEY_WRONG, Flag.NO_VALID_OPTION})  # no question is accepted with one of these


class FormProblem(Struct, frozen=True):
    """One thing that is wrong: the field that it is about, a code, and a sentence that says what to do."""

    field: str
    code: str
    message: str


class Blind(Struct, frozen=True, kw_only=True):
    """Step 1. ``best`` is empty when no option is defensible; otherwise it is one of ``defensible``."""

    best: str
    defensible: tuple[str, ...]
    difficulty: str


class Judgement(Struct, frozen=True, kw_only=True):
    """Steps 2 and 3 as the reviewer gave them. ``flags`` leaves out those that follow from step 1 by themselves."""

    grades: Mapping[str, int | str] = field(default_factory=dict)  # GradeName -> 1..5 or "cannot_judge"
    needs_image: str = ""
    relevant: str = ""
    flags: tuple[str, ...] = ()
    withdrawn_flags: tuple[str, ...] = ()  # flags that follow and were taken back
    disagreement: str = ""  # why the blind answer is not the key; empty where it is
    verdict: str = ""
    verdict_reason: str = ""
    reasoning: str = ""
    comment: str = ""
    category: str = ""  # empty: as it is


class Ground(Struct, frozen=True, kw_only=True):
    """What the judgement is checked against. ``blind`` is None in a round that asks for step 2 only."""

    blind: Blind | None
    key: str
    report_opened: bool
    design: FormDesign = PAPER  # what the form of the round asks


def incomplete(problems: Sequence[FormProblem]) -> ReviewRefused:
    """Something is missing or does not fit; the problems say what, field by field."""
    sentence = " ".join(problem.message for problem in problems)
    return ReviewRefused("incomplete", sentence, status=422, problems=list(problems))


# --- step 1 ---------------------------------------------------------------------------------------
def make_blind(best: str, defensible: Iterable[str], difficulty: str) -> Blind:
    """A blind answer in its one written form: letters in order, the best one among them."""
    letters = {str(letter) for letter in defensible} | ({str(best)} if best else set())
    return Blind(best=str(best), defensible=tuple(sorted(letters)), difficulty=str(difficulty))


def check_blind(blind: Blind) -> list[FormProblem]:
    problems = []
    letters = set(OptionLetter.values())
    if (blind.best and blind.best not in letters) or not letters.issuperset(blind.defensible):
        problems.append(FormProblem("best", "unknown_option", _("Choose among the options A to D.")))
    elif not blind.best and blind.defensible:
        problems.append(FormProblem("best", "no_best", _("Choose the best of the acceptable options.")))
    if blind.difficulty not in {Difficulty.EASY, Difficulty.MEDIUM, Difficulty.HARD}:
        problems.append(FormProblem("difficulty", "missing", _("Choose a difficulty: easy, medium or hard.")))
    return problems


def could_mean(best: str) -> set[str]:
    """What may have been meant in place of a blind answer: another letter, or "none"."""
    return {"none", *OptionLetter.values()} - {best or "none", ""}


def parse_blind(sent: Mapping[str, Sequence[str]]) -> tuple[Blind, list[FormProblem]]:
    """Step 1 from form fields ``best`` (A to D or "none"), ``defensible`` and ``difficulty``.

    "None" has to be chosen: a missing ``best`` is a problem, not an answer.
    """
    best = _one(sent, "best")
    is_none = best == "none"
    blind = make_blind("" if is_none else best, sent.get("defensible", ()), _one(sent, "difficulty"))
    problems = check_blind(blind)
    if not best and not any(problem.field == "best" for problem in problems):
        problems.insert(0, FormProblem("best", "missing", _("Choose the best option, or say that none is acceptable.")))
    return blind, problems


# --- what follows from step 1 and the key -----------------------------------------------------------
def differs(blind: Blind | None, key: str) -> bool:
    """Whether a blind answer is not the key: then the reviewer says which of the two is wrong, or neither."""
    return blind is not None and blind.best != key


def following_flags(blind: Blind | None, key: str, disagreement: str = "") -> tuple[Flag, ...]:
    """What follows from the blind answer; where it is not the key, from what the reviewer says of that."""
    if blind is None or disagreement == Disagreement.OWN_ERROR:
        return ()
    if differs(blind, key) and not disagreement:
        return ()
    if not blind.defensible:
        return (Flag.NO_VALID_OPTION,)
    flags = []
    if len(blind.defensible) > 1 or disagreement == Disagreement.BOTH:
        flags.append(Flag.SEVERAL_VALID)
    if disagreement == Disagreement.KEY_WRONG:
        flags.append(Flag.KEY_WRONG)
    return tuple(flags)


def stored_disagreement(stored: str, flags: Iterable[str], withdrawn: Iterable[str]) -> str:
    """What an older version says that was not asked: its flags followed by themselves, or were taken back."""
    if stored:
        return stored
    if AGAINST_KEY.intersection(flags):
        return Disagreement.KEY_WRONG.value
    if AGAINST_KEY.intersection(withdrawn):
        return Disagreement.OWN_ERROR.value
    return Disagreement.BOTH.value if Flag.SEVERAL_VALID in set(flags) else ""


def is_accepting(verdict: str, flags: Iterable[str]) -> bool:
    """An older version can say accept beside a wrong key: that accepts nothing."""
    return verdict == Verdict.ACCEPT and not AGAINST_KEY.intersection(flags)


def flags_set(judgement: Judgement, ground: Ground) -> list[str]:
    """The flags of a review, in the order of the vocabulary: chosen ones, and those that follow unless withdrawn."""
    follow = set(following_flags(ground.blind, ground.key, judgement.disagreement)) - set(judgement.withdrawn_flags)
    set_flags = {str(flag) for flag in follow} | set(judgement.flags)
    return [flag.value for flag in Flag if flag.value in set_flags]


def needs_reasoning(judgement: Judgement, ground: Ground) -> bool:
    """Clinical reasoning is due when the blind answer is not the key, or the verdict is not accept."""
    return differs(ground.blind, ground.key) or judgement.verdict != Verdict.ACCEPT


# --- steps 2 and 3 ----------------------------------------------------------------------------------
def parse_judgement(sent: Mapping[str, Sequence[str]]) -> Judgement:
    """Steps 2 and 3 from form fields; what is not there stays empty for check_judgement to find."""
    grades: dict[str, int | str] = {}
    for name in GradeName.values():
        value = _one(sent, name)
        if value:
            grades[name] = int(value) if value in {"1", "2", "3", "4", "5"} else value
    return Judgement(
        grades=grades,
        needs_image=_one(sent, "needs_image"),
        relevant=_one(sent, "relevant"),
        flags=tuple(dict.fromkeys(sent.get("flags", ()))),
        withdrawn_flags=tuple(dict.fromkeys(sent.get("withdrawn_flags", ()))),
        disagreement=_one(sent, "disagreement"),
        verdict=_one(sent, "verdict"),
        verdict_reason=_text(sent, "verdict_reason"),
        reasoning=_text(sent, "reasoning"),
        comment=_text(sent, "comment"),
        category=" ".join(_one(sent, "category").split()),
    )


def check_judgement(judgement: Judgement, ground: Ground) -> list[FormProblem]:
    """Everything that is missing or does not fit, in the order of the form; empty when the review may be stored."""
    return [
        *_check_disagreement(judgement, ground),
        *_check_grades(judgement, ground.design),
        *_check_degrees(judgement, ground.design),
        *_check_flags(judgement, ground),
        *_check_verdict(judgement, ground),
        *_check_texts(judgement, ground),
    ]


def _check_disagreement(judgement: Judgement, ground: Ground) -> list[FormProblem]:
    if not differs(ground.blind, ground.key):
        sentence = _("Your blind answer equals the key: there is nothing to explain.")
        return [FormProblem("disagreement", "does_not_follow", sentence)] if judgement.disagreement else []
    none = ground.blind is not None and not ground.blind.defensible
    possible = set(Disagreement.values()) - {""} - ({Disagreement.BOTH} if none else set())
    if judgement.disagreement in possible:
        return []
    sentence = _("Your blind answer is not the key: say if the key is wrong, you were wrong, or both are acceptable.")
    return [FormProblem("disagreement", "unknown_choice" if judgement.disagreement else "missing", sentence)]


def _check_grades(judgement: Judgement, design: FormDesign) -> list[FormProblem]:
    problems = []
    for name in design.grades:
        grade = judgement.grades.get(name.value)
        if grade is None:
            problems.append(FormProblem(name.value, "missing", _("Choose a grade from 1 to 5, or cannot judge.")))
        elif not (grade == CANNOT_JUDGE or (type(grade) is int and grade in GRADES)):
            problems.append(FormProblem(name.value, "unknown_grade", _("A grade is 1, 2, 3, 4, 5 or “cannot judge”.")))
    if set(judgement.grades) - {name.value for name in design.grades}:
        problems.append(FormProblem("grades", "unknown_grade", _("This grade is not asked in this round.")))
    return problems


def _check_degrees(judgement: Judgement, design: FormDesign) -> list[FormProblem]:
    sent = {"needs_image": judgement.needs_image, "relevant": judgement.relevant}
    sentence = _("Choose yes, partly, no or cannot judge.")
    problems = [
        FormProblem(name, "unknown_choice" if sent[name] else "missing", sentence)
        for name in design.choices
        if sent[name] not in Degree.values()
    ]
    not_asked = _("This is not asked in this round.")
    return problems + [
        FormProblem(name, "not_asked", not_asked)
        for name, value in sent.items()
        if value and name not in design.choices
    ]


def _check_flags(judgement: Judgement, ground: Ground) -> list[FormProblem]:
    problems = []
    may_choose = set(ground.design.flags) - (set() if ground.blind is None else set(FOLLOWING))
    follow = set() if judgement.disagreement else set(following_flags(ground.blind, ground.key))
    if set(judgement.flags) - set(Flag.values()):
        problems.append(FormProblem("flags", "unknown_flag", _("This flag does not exist.")))
    elif ground.blind is not None and set(judgement.flags) & set(FOLLOWING):
        problems.append(
            FormProblem("flags", "follows", _("That flag follows from your blind answer; it cannot be set by hand."))
        )
    elif set(judgement.flags) - may_choose:
        problems.append(FormProblem("flags", "not_asked", _("That flag is not asked in this round.")))
    if Flag.HALLUCINATED in judgement.flags and not ground.report_opened:
        problems.append(FormProblem("flags", "report_first", _("Open the report (O) first.")))
    if set(judgement.withdrawn_flags) - follow:
        problems.append(FormProblem("flags", "does_not_follow", _("Only a flag that follows can be withdrawn.")))
    elif judgement.withdrawn_flags and not judgement.comment:
        problems.append(FormProblem("comment", "withdrawn", _("Explain in the comment why you withdraw the flag.")))
    return problems


def _check_verdict(judgement: Judgement, ground: Ground) -> list[FormProblem]:
    if judgement.verdict not in Verdict.values():
        return [FormProblem("verdict", "missing", _("Give a verdict: accept, revise, reject or cannot judge."))]
    flags = flags_set(judgement, ground)
    if judgement.verdict == Verdict.ACCEPT and not is_accepting(judgement.verdict, flags):
        sentence = _("A question with a wrong key cannot be accepted: choose revise or reject.")
        return [FormProblem("verdict", "key_wrong", sentence)]
    if judgement.verdict == Verdict.CANNOT_JUDGE and not judgement.verdict_reason:
        return [FormProblem("verdict_reason", "missing", _("Explain why you cannot judge this question."))]
    return []


def _check_texts(judgement: Judgement, ground: Ground) -> list[FormProblem]:
    problems = []
    if needs_reasoning(judgement, ground) and not judgement.reasoning and judgement.verdict in Verdict.values():
        sentence = (
            _("Give your clinical reasoning: your blind answer is not the key.")
            if judgement.verdict == Verdict.ACCEPT
            else _("Give your clinical reasoning: the verdict is not “accept”.")
        )
        problems.append(FormProblem("reasoning", "missing", sentence))
    is_low = any(type(grade) is int and 1 <= grade <= GRADE_NEEDS_WORDS for grade in judgement.grades.values())
    if is_low and not judgement.comment and not flags_set(judgement, ground):
        problems.append(FormProblem("comment", "low_grade", _("A grade of 3 or less needs a flag or a comment.")))
    texts = {"verdict_reason": judgement.verdict_reason, "reasoning": judgement.reasoning, "comment": judgement.comment}
    problems += [
        FormProblem(name, "too_long", _("This text is too long: at most 5,000 characters."))
        for name, text in texts.items()
        if len(text) > TEXT_LIMIT
    ]
    if len(judgement.category) > CATEGORY_LIMIT:
        problems.append(FormProblem("category", "too_long", _("A category has at most 200 characters.")))
    return problems


def _one(sent: Mapping[str, Sequence[str]], name: str) -> str:
    values = sent.get(name, ())
    return values[-1].replace("\x00", "").strip() if values else ""


def _text(sent: Mapping[str, Sequence[str]], name: str) -> str:
    return _one(sent, name).replace("\r\n", "\n")
