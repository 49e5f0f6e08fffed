"""What must hold before a study is frozen, and the indications that are shown with its questions.

What the rule finds never blocks freezing; a missing statement does. Both come of keys and reports: they are for
people who may see those.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from enum import StrEnum

from django.db.models import Exists, OuterRef
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from msgspec import Struct

from annotation.enums import ImageState
from annotation.ingest.completeness import ExamImages, images_of_questions
from annotation.models import AnswerKey, AuditEvent, Revision
from annotation.site.sentences import listed
from readerstudy.design.kernels.analysis_plan import (
    FEW_READERS,
    GROUPS,
    PARTS,
    RANDOM_BOTH,
    AnalysisPlan,
    check_margin_reason,
    folded,
    known_inference,
    proposed_inference,
    read_analysis,
    readable_analysis,
    with_choices,
)
from readerstudy.design.kernels.documents import DesignRefused, canonical, read_rules, sha256_of
from readerstudy.design.kernels.ordering import LETTERS, marked, shared_words
from readerstudy.design.questions import accepted_among, awaiting_review, mates_of_patient
from readerstudy.design.shown import Shown, changed_pixels, is_as_hashed, is_of_prior, shown_as_frozen
from readerstudy.enums import Aid, Block, EntryState, Information
from readerstudy.models import CaseSet, ModelEntry, ReaderStudy, ShownImage, StudyCase
from readerstudy.study.permissions import StudyRefused


class Place(StrEnum):
    """Where a coordinator mends a problem."""

    BANK = "bank"
    CASES = "cases"
    ARMS = "arms"
    RULES = "rules"


def problems_of(study: ReaderStudy, *, read_elsewhere: bool = False) -> list[str]:
    """Why the study cannot be frozen: sentences, none when it can."""
    return [sentence for _place, sentence in problems_by_place(study, read_elsewhere=read_elsewhere)]


def problems_by_place(study: ReaderStudy, *, read_elsewhere: bool = False) -> list[tuple[Place, str]]:
    """The same, each with the place where it is mended. A study whose readings were made elsewhere needs no images."""
    cases = [*_case_problems(study), *_patient_problems(study)]
    if not read_elsewhere:
        cases += [*_priors_among_cases(study), *problems_of_images(study)]
    return [*_design_problems(study), *((Place.CASES, sentence) for sentence in cases)]


def hindrances_of(study: ReaderStudy) -> list[str]:
    """Why nobody could read a frozen study: images that cannot be seen, or are not those of the protocol any more."""
    found = []
    cases = list(_cases(study))
    kept = shown_as_frozen(cases)
    missing = [case for case in cases if _is_missing(kept[case.pk])]
    if missing:
        found.append(_missing_images(missing, len(cases)))
    there = [case for case in cases if case not in missing]
    changed = changed_pixels(image for case in there for image in kept[case.pk].images)
    changed |= {case.pk for case in there if _came_late(kept[case.pk]) or not is_as_hashed(case, kept[case.pk])}
    sentence = _(
        "These cases show something else than when the study was frozen: %(names)s. "
        "Copy the study, and freeze the copy."
    )
    return [*found, *_naming(sentence, [named_case(case) for case in there if case.pk in changed])]


def _naming(sentence: str, names: Sequence[str]) -> list[str]:
    """A sentence about these; none where there are none."""
    return [sentence % {"names": listed(names)}] if names else []


def notes_of(study: ReaderStudy, *, at: datetime) -> list[str]:
    """What is allowed and worth a word before the study is frozen."""
    notes = []
    if study.deadline_at is not None and study.deadline_at <= at:
        notes.append(_("The deadline has passed: nobody can read until it is extended."))
    if not study.consent.strip():
        notes.append(_("There is no consent text: readers are not asked to agree to anything."))
    if not study.instructions.strip():
        notes.append(_("There are no instructions: readers see the rules of the study and the keys."))
    if not study.contact:
        notes.append(_("No contact is named."))
    if not study.cases.filter(block=Block.PRACTICE).exists():
        notes.append(_("There is no practice block."))
    reasoned = study.cases.exclude(accepted_because="").count()
    if reasoned:
        notes.append(_("Cases taken with a reason, without being accepted in review: %(n)s.") % {"n": reasoned})
    sentence = _(
        "No model that is listed has these names of the planned pairs or runs so far: %(names)s. "
        "A name that no model or reader has when the study is analysed gives no result."
    )
    return [*notes, *_naming(sentence, _unknown_in_pairs(study)), *_lost_with_reason(study), *_plan_notes(study)]


def _plan_notes(study: ReaderStudy) -> list[str]:
    """Where the program reads the plan otherwise than its author may think, or would propose another."""
    plan = readable_analysis(study.analysis)
    if plan is None:
        return []
    sentence = _("The result will be post hoc: these parts of the plan are in words of their own: %(names)s.")
    if notes := _naming(sentence, [_(PARTS[part]) for part in with_choices(plan).own_words]):
        return notes
    proposed = proposed_inference(study.n_readers)
    if known_inference(plan.inference) == proposed:
        return []
    if proposed == RANDOM_BOTH:
        sentence = _("With %(least)s readers or more the program proposes: %(proposed)s. The plan names: %(named)s.")
    else:
        sentence = _("With fewer than %(least)s readers the program proposes: %(proposed)s. The plan names: %(named)s.")
    return [sentence % {"least": FEW_READERS, "proposed": proposed, "named": plan.inference}]


PSEUDONYM = re.compile(r"r[0-9]+")  # as readers get them


def _unknown_in_pairs(study: ReaderStudy) -> list[str]:
    """Names that no listed model has and readers do not get: a slip, a model to come, or a reader elsewhere."""
    plan = readable_analysis(study.analysis) or AnalysisPlan()
    names = dict.fromkeys(name for pair in plan.pairs for name in pair if name not in GROUPS)
    names |= dict.fromkeys(name for name, _run in plan.runs)
    if not names:
        return []
    entries = ModelEntry.objects.filter(state=EntryState.LISTED).values_list("name", "version")
    known = {folded(text) for name, version in entries for text in (name, f"{name} {version}")}
    return [name for name in names if folded(name) not in known and not PSEUDONYM.fullmatch(folded(name))]


def problems_of_images(study: ReaderStudy) -> list[str]:
    """Why its readers would not see what its questions are about: images that are not there, or were removed."""
    cases = list(_cases(study))
    images = _images_of(cases)
    missing = [case for case in cases if images[case.pk].is_waiting]
    lost = [case for case in cases if len(images[case.pk].removed) > case.n_lost and case not in missing]
    sentence = _("Images of these cases were removed: %(names)s. Choose other cases, or list these with a reason.")
    found = [_missing_images(missing, len(cases))] if missing else []
    return [*found, *_naming(sentence, _with_removed(lost, images))]


def _images_of(cases: Iterable[StudyCase]) -> dict[int, ExamImages]:
    revisions = ((case.pk, case.revision) for case in cases)
    return images_of_questions((pk, one.question.exam_id, one.images_left_out) for pk, one in revisions)


def _missing_images(cases: Sequence[StudyCase], n_all: int) -> str:
    return ngettext(
        "%(n)s of %(all)s cases lacks an image that may be shown (missing or not released): %(names)s.",
        "%(n)s of %(all)s cases lack an image that may be shown (missing or not released): %(names)s.",
        len(cases),
    ) % {"n": len(cases), "all": n_all, "names": listed([named_case(case) for case in cases])}


def _with_removed(cases: Iterable[StudyCase], images: Mapping[int, ExamImages]) -> list[str]:
    return [f"{named_case(case)} ({', '.join(images[case.pk].removed)})" for case in cases]


def _lost_with_reason(study: ReaderStudy) -> list[str]:
    cases = [case for case in _cases(study) if case.n_lost]
    if not cases:
        return []
    images = _images_of(cases)
    sentence = _("These cases are used, with a reason, although an image was removed: %(names)s.")
    return _naming(sentence, _with_removed(cases, images))


def _is_missing(shown: Shown) -> bool:
    """Whether a frozen case has an image that cannot be seen, but for those that were gone when it was frozen."""
    gone = {ImageState.AVAILABLE, ImageState.REMOVED}
    missed = [one for one in shown.images if one.image.state not in gone or _was_removed(one)]
    own = [one for one in shown.images if not is_of_prior(one.frozen)]
    return bool(missed) or not any(one.image.state == ImageState.AVAILABLE for one in own)


def _was_removed(one: ShownImage) -> bool:
    return one.image.state == ImageState.REMOVED and bool(one.frozen["renditions"])


def _came_late(shown: Shown) -> bool:
    return any(one.image.state == ImageState.AVAILABLE and not one.frozen["renditions"] for one in shown.images)


def _cases(study: ReaderStudy) -> Iterable[StudyCase]:
    return study.cases.select_related("revision__question").order_by("block", "number")


def named_case(case: StudyCase) -> str:
    return _("practice %(n)s") % {"n": case.number} if case.block == Block.PRACTICE else str(case.number)


def _design_problems(study: ReaderStudy) -> list[tuple[Place, str]]:
    found: list[tuple[Place, str]] = []
    if study.bank.archived_at is not None:
        sentence = _("“%(bank)s” is archived: bring it back first.") % {"bank": study.bank.name}
        found.append((Place.BANK, sentence))
    try:
        rules, plan = read_rules(study.rules), read_analysis(study.analysis)
    except DesignRefused as refusal:
        return [*found, (Place.RULES, _("The rules cannot be read: %(why)s") % {"why": refusal})]
    try:
        check_margin_reason(plan)
    except DesignRefused as refusal:
        found.append((Place.RULES, _("The margin has no reason. %(why)s") % {"why": _(str(refusal))}))
    n_practice = study.cases.filter(block=Block.PRACTICE).count()
    if rules.practice_pass is not None and rules.practice_pass > n_practice:
        sentence = _("%(n)s right practice answers are asked for, and there are %(available)s practice cases.")
        found.append((Place.RULES, sentence % {"n": rules.practice_pass, "available": n_practice}))
    if rules.reader_names and not study.consent.strip():
        sentence = _("Names of readers are shown in results: write the consent text in which readers agree to it.")
        found.append((Place.RULES, sentence))
    arms = list(study.arms.all())
    if len(arms) != 1:
        found.append((Place.ARMS, _("A study has one arm for now; this one has %(n)s.") % {"n": len(arms)}))
    if any(arm.aid != Aid.NONE for arm in arms):
        found.append((Place.ARMS, _("Arms with a model's answer cannot be read yet: choose an unaided arm.")))
    return found


def _case_problems(study: ReaderStudy) -> list[str]:
    cases = list(_cases(study))
    main = [case for case in cases if case.block == Block.MAIN]
    if not main:
        return [_("The study has no cases yet.")]
    current = Revision.objects.current().filter(pk__in=[case.revision_id for case in cases])
    known = set(current.values_list("pk", flat=True))
    accepted, awaiting = accepted_among(known), awaiting_review(study.bank)
    unreasoned = [case for case in cases if not case.accepted_because]
    in_sets = StudyCase.sets.through.objects.filter(studycase=OuterRef("pk"))
    outside = study.cases.filter(~Exists(in_sets), block=Block.MAIN)
    empty = CaseSet.objects.filter(study=study, cases=None).values_list("name", flat=True)
    return [
        *_naming(
            _("These cases have been revised since they were chosen: %(names)s. Choose the cases anew."),
            [named_case(case) for case in cases if case.revision_id not in known],
        ),
        *_naming(
            _("These cases are not accepted in their bank, and no reason says why they are used: %(names)s."),
            [named_case(case) for case in unreasoned if case.revision_id in known - accepted],
        ),
        *_naming(
            _("A model wrote the questions of these cases, and reviews do not accept them any more: %(names)s."),
            [named_case(case) for case in cases if case.accepted_because and case.revision_id in awaiting],
        ),
        *_naming(_("These cases are in no set: %(names)s."), [named_case(case) for case in outside]),
        *_naming(_("These sets have no cases: %(names)s."), list(empty)),
    ]


def _patient_problems(study: ReaderStudy) -> list[str]:
    """One question per patient unless asked otherwise; no patient of the practice block in the main block."""
    block_of = dict(study.cases.order_by().values_list("revision__question__number", "block"))
    revisions = study.cases.values_list("revision", flat=True)
    mates = list(mates_of_patient(study.bank, list(revisions)).values())
    in_both = [numbers for numbers in mates if len({block_of[number] for number in numbers}) > 1]
    several = [numbers for numbers in mates if sum(block_of[number] == Block.MAIN for number in numbers) > 1]
    try:
        is_allowed = read_rules(study.rules).several_per_patient
    except DesignRefused:
        is_allowed = True  # the rules are refused already
    again = _("Patients of the practice block come again in the main block: questions %(names)s.")
    sentence = _("Several questions of one patient: %(names)s. Leave some out, or allow it in the rules.")
    return [*_naming(again, _groups(in_both)), *_naming(sentence, [] if is_allowed else _groups(several))]


def _priors_among_cases(study: ReaderStudy) -> list[str]:
    """No case shows another one as its prior: its readers would have that one's images before it is theirs to read."""
    exam = "revision__question__exam"
    later = study.cases.filter(**{f"{exam}__prior__isnull": False}).select_related(exam).order_by("block", "number")
    shown = [(case, case.revision.question.exam.prior_id) for case in later]
    earlier: dict[int, list[StudyCase]] = defaultdict(list)
    for case in study.cases.filter(**{f"{exam}__in": {prior for _case, prior in shown}}).select_related(exam):
        earlier[case.revision.question.exam_id].append(case)
    names = [
        _("%(case)s shows those of %(other)s") % {"case": named_case(case), "other": named_case(other)}
        for case, prior in shown
        for other in earlier.get(prior or 0, ())
    ]
    return _naming(_("Images of one case are shown as prior with another: %(names)s. Leave one of the two out."), names)


def _groups(groups: Iterable[list[int]]) -> list[str]:
    return [_(" and ").join(map(str, numbers)) for numbers in groups]


FROZEN, READ = "study.frozen", "indications_read"  # the audit event of freezing, and its fact


class Hint(Struct, frozen=True):
    """Words of an indication that are also words of an option; ``of_key``: of the right one among others."""

    words: tuple[str, ...]
    of_key: bool

    def __str__(self) -> str:
        words = ", ".join(self.words)
        return _("%(words)s: in the right answer") % {"words": words} if self.of_key else words


class IndicatedCase(Struct, frozen=True):
    """A case with what is to be read of it: its indication, what the rule found in it, and its key."""

    case: StudyCase
    indication: str
    key: str
    hint: Hint | None

    @property
    def pieces(self) -> list[tuple[str, bool]]:
        """The indication; true for the words that the rule marks."""
        return marked(self.indication, self.hint.words if self.hint else ())

    @property
    def options(self) -> list[tuple[str, list[tuple[str, bool]], bool]]:
        """Letter, pieces of the text, whether it is the key."""
        words = self.hint.words if self.hint else ()
        texts = zip(LETTERS, self.case.revision.options, strict=False)
        return [(letter, marked(text, words), letter == self.key) for letter, text in texts]


class StatementOnIndications(Struct, frozen=True):
    """Somebody has read the indications of all cases, and none gives an answer away. ``who``: empty for the command."""

    who: str
    at: datetime


def shows_indications(study: ReaderStudy) -> bool:
    return study.arms.filter(information=Information.INDICATION).exists()


def cases_with_information(study: ReaderStudy) -> list[IndicatedCase]:
    """Every case with its indication, empty where the report has none; the practice block last."""
    cases = list(study.cases.select_related("revision__question").order_by("block", "number"))
    rows = AnswerKey.objects.filter(pk__in=[case.revision_id for case in cases])
    found = {pk: (key, indication or "") for pk, key, indication in rows.values_list("pk", "key", "report__indication")}
    indicated = []
    for case in cases:
        key, indication = found.get(case.revision_id, ("", ""))
        indicated.append(IndicatedCase(case, indication, key, _hint(indication, case.revision.options, key)))
    return indicated


def sha256_of_information(indicated: Iterable[IndicatedCase]) -> str:
    """Of what was read, so that a statement does not outlive a change. Made of keys: never stored, only compared."""
    rows = [[one.case.block, one.case.number, one.case.revision_id, one.indication, one.key] for one in indicated]
    return sha256_of(canonical(rows))


def check_indications_read(study: ReaderStudy, read: str) -> bool:
    """Whether there was anything to read. Refused unless ``read`` is the hash of what shows now."""
    if not shows_indications(study):
        return False
    if read != sha256_of_information(cases_with_information(study)):
        sentence = _(
            "Readers will see indications. Read those of all cases, practice too, as they stand now, and state that "
            "none of them gives an answer away."
        )
        raise StudyRefused("indications_not_read", sentence)
    return True


def statement_on(study: ReaderStudy) -> StatementOnIndications | None:
    """Who froze the study with the statement; None where nobody made it, as before it was asked for."""
    frozen = AuditEvent.objects.filter(act=FROZEN, subject_type="readerstudy", subject_id=str(study.pk))
    event = frozen.select_related("actor").order_by("pk").last()
    if event is None or not event.facts.get(READ):
        return None
    return StatementOnIndications(event.actor.name if event.actor else "", event.at)


def hints_in(study: ReaderStudy, revisions: Iterable[Revision]) -> dict[int, Hint]:
    """By revision, only where there is one. Empty where no arm shows indications."""
    if not shows_indications(study):
        return {}
    options = {revision.pk: revision.options for revision in revisions}
    rows = AnswerKey.objects.filter(pk__in=options, report__isnull=False).exclude(report__indication="")
    indicated = rows.values_list("pk", "key", "report__indication")
    found = ((pk, _hint(indication, options[pk], key)) for pk, key, indication in indicated)
    return {pk: hint for pk, hint in found if hint is not None}


def indication_notes(study: ReaderStudy) -> list[str]:
    """One sentence that names the cases with such an indication; none where there are none."""
    cases = list(study.cases.select_related("revision").order_by("block", "number"))
    hints = hints_in(study, [case.revision for case in cases])
    names = [f"{named_case(case)} ({hints[case.revision_id]})" for case in cases if case.revision_id in hints]
    if not names:
        return []
    sentence = _(
        "The indication of these cases has a word that only some of the options have: %(names)s. Read them: where one "
        "gives the answer away, leave the case out, or show no indication."
    )
    return [sentence % {"names": listed(names)}]


def _hint(indication: str, options: Sequence[str], key: str) -> Hint | None:
    of_option = dict(zip(LETTERS, shared_words(indication, options), strict=False))
    words = tuple(dict.fromkeys(word for words in of_option.values() for word in words))
    return Hint(words, bool(of_option.get(key))) if words else None
