"""What keeps a draft from being frozen, a frozen study from being opened, and what is only said."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum

from django.db.models import Exists, OuterRef
from django.utils.translation import gettext as _

from annotation.enums import ImageState
from annotation.models import Image, Revision
from readerstudy.design.casting import listed
from readerstudy.design.planned_pairs import GROUPS, Pair, folded
from readerstudy.design.pool import is_accepted, mates_of_patient, verdicts_on
from readerstudy.design.rules import RulesRefused, read_analysis, read_rules
from readerstudy.design.shown import shown_hashes
from readerstudy.enums import Aid, Block, EntryState
from readerstudy.models import CaseSet, ModelEntry, ReaderStudy, StudyCase


class Place(StrEnum):
    """Where a coordinator mends a problem."""

    BANK = "bank"
    CASES = "cases"
    ARMS = "arms"
    RULES = "rules"


def problems_of(study: ReaderStudy) -> list[str]:
    """Why the study cannot be frozen: sentences, none when it can."""
    return [sentence for _place, sentence in problems_by_place(study)]


def problems_by_place(study: ReaderStudy) -> list[tuple[Place, str]]:
    """The same, each with the place where it is mended."""
    cases = [*_case_problems(study), *_patient_problems(study)]
    return [*_design_problems(study), *((Place.CASES, sentence) for sentence in cases)]


def hindrances_of(study: ReaderStudy) -> list[str]:
    """Why nobody could read it: images that are missing, and, once frozen, that are not those of the protocol."""
    found = []
    cases = list(_cases(study))
    missing = cases_without_images(cases)
    if missing:
        found.append(
            _("Images are missing, or nobody may see them yet, in these cases: %(names)s.")
            % {"names": listed([named_case(case) for case in missing])}
        )
    now = shown_hashes(study, cases)
    other = [case for case in cases if case.shown_sha256 not in ("", now[case.pk]) and case not in missing]
    if other:
        found.append(
            _(
                "These cases show something else than when the study was frozen: %(names)s. Copy the study, and freeze "
                "the copy."
            )
            % {"names": listed([named_case(case) for case in other])}
        )
    return found


def notes_of(study: ReaderStudy, *, at: datetime) -> list[str]:
    """What is allowed and worth a word before the study is frozen."""
    notes = []
    if study.deadline_at is not None and study.deadline_at <= at:
        notes.append(_("The deadline has passed: nobody could read before it is extended."))
    if not study.consent:
        notes.append(_("There is no consent text: readers are not asked to agree to anything."))
    if not study.instructions:
        notes.append(_("There are no instructions."))
    if not study.contact:
        notes.append(_("No contact is named."))
    if not study.cases.filter(block=Block.PRACTICE).exists():
        notes.append(_("There is no practice block."))
    reasoned = study.cases.exclude(accepted_because="").count()
    if reasoned:
        notes.append(_("Accepted with a reason, without accepting reviews: %(n)s.") % {"n": reasoned})
    unknown = _unknown_in_pairs(study)
    if unknown:
        sentence = _(
            "No model that is listed has these names of the planned pairs so far: %(names)s. A name that no model or "
            "reader has when the study is analysed gives no result."
        )
        notes.append(sentence % {"names": listed(unknown)})
    return [*notes, *hindrances_of(study)]


def planned_pairs_of(study: ReaderStudy) -> tuple[Pair, ...]:
    """None of a plan that cannot be read: the problems name it."""
    try:
        return read_analysis(study.analysis).pairs
    except RulesRefused:
        return ()


PSEUDONYM = re.compile(r"r[0-9]+")  # as readers get them in the order of joining


def _unknown_in_pairs(study: ReaderStudy) -> list[str]:
    """Names that no listed model has and readers do not get: a slip, a model to come, or a reader elsewhere."""
    names = dict.fromkeys(name for pair in planned_pairs_of(study) for name in pair if name not in GROUPS)
    if not names:
        return []
    entries = ModelEntry.objects.filter(state=EntryState.LISTED).values_list("name", "version")
    known = {folded(text) for name, version in entries for text in (name, f"{name} {version}")}
    return [name for name in names if folded(name) not in known and not PSEUDONYM.fullmatch(folded(name))]


def cases_without_images(cases: Iterable[StudyCase]) -> list[StudyCase]:
    """Cases whose exam has no image, or one that is not available; an image that a person removed is not missed."""
    by_exam = defaultdict(list)
    cases = list(cases)
    exams = {case.revision.question.exam_id for case in cases}
    for exam, state in Image.objects.filter(exam__in=exams).values_list("exam_id", "state"):
        if state != ImageState.REMOVED:
            by_exam[exam].append(state == ImageState.AVAILABLE)
    return [case for case in cases if not all(by_exam[case.revision.question.exam_id] or [False])]


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
        rules = read_rules(study.rules)
        read_analysis(study.analysis)
    except RulesRefused as refusal:
        return [*found, (Place.RULES, _("The rules cannot be read: %(why)s") % {"why": refusal})]
    n_practice = study.cases.filter(block=Block.PRACTICE).count()
    if rules.practice_pass is not None and rules.practice_pass > n_practice:
        sentence = _("%(n)s right practice answers are asked for, and there are %(held)s practice cases.")
        found.append((Place.RULES, sentence % {"n": rules.practice_pass, "held": n_practice}))
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
    found = []
    current = set(
        Revision.objects.current().filter(pk__in=[case.revision_id for case in cases]).values_list("pk", flat=True)
    )
    stale = [named_case(case) for case in cases if case.revision_id not in current]
    if stale:
        found.append(
            _("These cases have been revised since they were chosen: %(names)s. Choose the cases anew.")
            % {"names": listed(stale)}
        )
    verdicts = verdicts_on(study.bank)
    unaccepted = [
        named_case(case)
        for case in cases
        if not case.accepted_because and not is_accepted(verdicts.get(case.revision_id))
    ]
    if unaccepted:
        found.append(
            _("Not every review accepts these cases, and no reason says why they are used: %(names)s.")
            % {"names": listed(unaccepted)}
        )
    in_sets = StudyCase.sets.through.objects.filter(studycase=OuterRef("pk"))
    outside = [named_case(case) for case in study.cases.filter(~Exists(in_sets), block=Block.MAIN)]
    if outside:
        found.append(_("These cases are in no set: %(names)s.") % {"names": listed(outside)})
    empty = CaseSet.objects.filter(study=study, cases=None).values_list("name", flat=True)
    if empty:
        found.append(_("These sets have no cases: %(names)s.") % {"names": listed(list(empty))})
    return found


def _patient_problems(study: ReaderStudy) -> list[str]:
    """One question per patient unless asked otherwise; no patient of the practice block in the main block."""
    block_of = dict(study.cases.order_by().values_list("revision__question__number", "block"))
    revisions = study.cases.values_list("revision", flat=True)
    mates = list(mates_of_patient(list(revisions)).values())
    found = []
    in_both = [numbers for numbers in mates if len({block_of[number] for number in numbers}) > 1]
    if in_both:
        found.append(
            _("Patients of the practice block come again in the main block: questions %(names)s.") % _groups(in_both)
        )
    several = [numbers for numbers in mates if sum(block_of[number] == Block.MAIN for number in numbers) > 1]
    try:
        allowed = read_rules(study.rules).several_per_patient
    except RulesRefused:
        allowed = True  # the rules are refused already
    if several and not allowed:
        found.append(
            _("Several questions of one patient: %(names)s. Leave some out, or allow it in the rules.")
            % _groups(several)
        )
    return found


def _groups(groups: Iterable[list[int]]) -> dict[str, str]:
    return {"names": listed([_(" and ").join(map(str, numbers)) for numbers in groups])}
