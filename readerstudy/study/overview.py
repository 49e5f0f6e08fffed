"""Studies as their coordinators list them: how many cases, who reads, how far they are, until when."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from django.core.cache import cache
from django.db.models import Case, Count, QuerySet, When
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from msgspec import Struct

from annotation.enums import ImageState, ImportState, Role
from annotation.models import BankImport, User
from annotation.people.open_work import SHOWN, NextStep, WorkItem, WorkSection, first_due
from annotation.site.permissions import acts_as, is_administrator, is_coordinator, within_reach
from annotation.site.sentences import time_text
from annotation.site.sorted_tables import MOST_COUNTED
from readerstudy.enums import OVER, Block, StudyState
from readerstudy.models import CaseSet, Enrolment, ReaderStudy, Reading, ShownImage, StudyCase
from readerstudy.study.hidden_images import left_in_sight

MOST_CASES = 500  # of a study that is counted anew each time
TONES = {StudyState.OPEN: "good", StudyState.DRAFT: "warn"}  # of the tag that shows the state


class StudyLine(Struct, frozen=True):
    """One study with its numbers. Readers who left or were replaced count in none of them."""

    study: ReaderStudy
    n_cases: int  # of the main block
    n_practice: int
    n_readers: int
    n_done: int  # cases of the main block with an answer of any kind
    n_total: int  # cases of the main block in the sets of these readers
    is_read_elsewhere: bool = False  # frozen, with readers of whom none has an account


def studies_known_to(person: User) -> QuerySet[ReaderStudy]:
    """All but those that the person reads in; for people without a role on the site, those that they coordinate."""
    rows = ReaderStudy.objects.select_related("bank").exclude(enrolments__reader=person)
    rows = within_reach(person, rows, bank="bank", study="pk")
    if is_coordinator(person) or is_administrator(person):
        return rows
    return rows.filter(coordinators__user=person) if acts_as(person, Role.COORDINATOR) else rows.none()


def n_newer_wordings(study: ReaderStudy) -> int:
    """Cases of which the bank has a newer wording than the one that the study keeps."""
    published = BankImport.objects.filter(bank=study.bank_id, state=ImportState.PUBLISHED).values("pk")
    return study.cases.filter(revision__superseded_by__in=published).count()


def lines_of(studies: Iterable[ReaderStudy]) -> list[StudyLine]:
    """The numbers of these studies; six queries, however many there are, and one more where some are frozen.

    Who has finished has answered all cases of the set; only of others the answers are counted, and of very many as of
    a minute ago.
    """
    rows = list(studies)
    ids = [study.pk for study in rows]
    if not ids:
        return []
    there = {"withdrawn_at__isnull": True, "replaced_at__isnull": True}
    sizes = _sizes(rows)
    in_set = {pk: n for size in sizes.values() for pk, n in size.in_set.items()}
    readers, done, total = Counter[int](), Counter[int](), Counter[int]()
    going_on = defaultdict[int, list[int]](list)  # who has not finished, by study
    enrolments = Enrolment.objects.filter(study__in=ids, **there).order_by()
    for pk, study, case_set, finished_at in enrolments.values_list("pk", "study", "case_set", "finished_at"):
        readers[study] += 1
        total[study] += in_set.get(case_set, 0)
        if finished_at is None:
            going_on[study].append(pk)
        else:
            done[study] += in_set.get(case_set, 0)
    done.update(_answered(going_on, total))
    frozen = [one.pk for one in rows if one.state == StudyState.FROZEN]
    accounts = _counts(Enrolment.objects.filter(study__in=frozen), "study", "reader") if frozen else {}
    return [
        StudyLine(
            one,
            n_cases=sizes[one.pk].in_block.get(Block.MAIN, 0),
            n_practice=sizes[one.pk].in_block.get(Block.PRACTICE, 0),
            n_readers=readers.get(one.pk, 0),
            n_done=done.get(one.pk, 0),
            n_total=total.get(one.pk, 0),
            is_read_elsewhere=accounts.get(one.pk) == 0,
        )
        for one in rows
    ]


class _Size(Struct, frozen=True):
    in_block: dict[str, int]
    in_set: dict[int, int]


def _sizes(studies: Sequence[ReaderStudy]) -> dict[int, _Size]:
    """How many cases each study has; of a large frozen one, whose cases the database holds as they are, for good."""
    kept = {one.pk: f"size:{one.pk}:{one.frozen_at.timestamp()}" for one in studies if one.frozen_at}
    stored = cache.get_many(kept.values())
    known = {pk: stored[name] for pk, name in kept.items() if name in stored}
    left = [one.pk for one in studies if one.pk not in known]
    if left:
        found = {pk: _Size({}, {}) for pk in left}
        cases = StudyCase.objects.filter(study__in=left).order_by().values_list("study", "block")
        for pk, block, n in cases.annotate(n=Count("*")):
            found[pk].in_block[block] = n
        sets = CaseSet.cases.through.objects.filter(caseset__study__in=left).values_list("caseset__study", "caseset")
        for pk, case_set, n in sets.annotate(n=Count("*")):
            found[pk].in_set[case_set] = n
        large = [pk for pk in kept.keys() & found.keys() if sum(found[pk].in_block.values()) > MOST_CASES]
        cache.set_many({kept[pk]: found[pk] for pk in large}, None)
        known |= found
    return known


def _answered(readers: Mapping[int, Sequence[int]], total: Mapping[int, int]) -> dict[int, int]:
    """Cases of the main block that these readers, by study, have answered."""
    kept = {pk: f"answered:{pk}" for pk in readers if total[pk] > MOST_COUNTED}
    known = {pk: n for pk, name in kept.items() if (n := cache.get(name)) is not None}
    left = {pk: listed for pk, listed in readers.items() if pk not in known}
    rows = Reading.objects.filter(enrolment__in=[one for listed in left.values() for one in listed])
    # All by an index that holds neither block nor close; what does not count is little, and is found by others.
    found = Counter(_counts(rows, "enrolment"))
    found.subtract(_counts(rows.filter(case__block=Block.PRACTICE), "enrolment"))
    found.subtract(_counts(rows.filter(case__block=Block.MAIN, closed_at=None), "enrolment"))
    for pk, listed in left.items():
        known[pk] = sum(found[one] for one in listed)
        if pk in kept:
            cache.set(kept[pk], known[pk], 60)
    return known


def _counts(rows: QuerySet[Any], by: str, what: str = "*") -> dict[int, int]:
    return dict(rows.order_by().values_list(by).annotate(n=Count(what)))


def studies_under_way(person: User, at: datetime) -> WorkSection | None:
    """The section of the home page: open studies, then frozen ones, drafts, the newest closed ones."""
    ranks = (StudyState.OPEN, StudyState.FROZEN, StudyState.DRAFT)
    rank = Case(*(When(state=state, then=place) for place, state in enumerate(ranks)), default=len(ranks))
    rows = studies_known_to(person).filter(archived_at__isnull=True).annotate(rank=rank)
    lines = lines_of(rows.order_by("rank", "-created_at")[:SHOWN])
    if not lines:
        return None
    studies = [line.study for line in lines]
    hidden, left = n_out_of_sight(studies), left_in_sight(studies)
    items = [
        WorkItem(
            name=line.study.name,
            url=reverse("study", args=[line.study.slug]),
            n_done=line.n_done,
            n_total=line.n_total,
            words="" if line.n_total else _("no reader yet"),
            **_tag(line.study, hidden.get(line.study.pk, 0), len(left.get(line.study.pk, ()))),
        )
        for line in lines
    ]
    looks_after = is_coordinator(person) or not is_administrator(person)
    step = first_due(next_of_study(line) for line in lines) if looks_after else None
    return WorkSection(_("Reader studies"), items, step, url=reverse("studies"))


def _tag(study: ReaderStudy, n_hidden: int, n_left: int) -> dict[str, str]:
    """Its state; of an open study first what somebody looks at now, then what its readers miss."""
    if not n_hidden and not n_left:
        return {"state": study.get_state_display(), "tone": TONES.get(StudyState(study.state), "")}
    if n_left:
        sentence = ngettext("%(n)s reported image in sight", "%(n)s reported images in sight", n_left)
    else:
        sentence = ngettext("%(n)s image in quarantine", "%(n)s images in quarantine", n_hidden)
    return {"state": sentence % {"n": n_left or n_hidden}, "tone": "bad"}


def n_out_of_sight(studies: Sequence[ReaderStudy]) -> Mapping[int, int]:
    """Images of the open ones that are in quarantine, so that their readers do not see them; without those of none."""
    reading = [study.pk for study in studies if study.state == StudyState.OPEN]
    if not reading:
        return {}
    rows = ShownImage.objects.filter(case__study__in=reading, image__state=ImageState.QUARANTINED).order_by()
    return dict(rows.values_list("case__study").annotate(n=Count("image", distinct=True)))


def has_texts(study: ReaderStudy) -> bool:
    """What readers must be told before anybody reads."""
    return all(text.strip() for text in (study.consent, study.instructions, study.contact))


def next_of_study(line: StudyLine) -> NextStep | None:
    """What a coordinator does next, or what the study waits for; None once its results were seen, or archived."""
    study, numbers = line.study, {"done": line.n_done, "total": line.n_total}

    def step(label: str, sentence: str, url_name: str, *, is_act: bool = False, is_due: bool = True) -> NextStep:
        url = reverse(url_name, args=[study.slug])
        return NextStep(label, sentence, url, about=study.name, is_act=is_act, is_due=is_due)

    if study.archived_at is not None:
        return None
    if study.state == StudyState.DRAFT:
        if not line.n_cases:
            return step(_("Cases"), _("Choose the cases first: everything else depends on them."), "study-cases")
        if not has_texts(study):
            return step(_("Rules"), _("Readers need a consent text, instructions and a contact."), "study-rules")
        return step(_("Check and freeze"), _("Walk through as a reader, then freeze the design."), "study-freeze")
    if study.state in OVER or line.is_read_elsewhere:
        if study.unblinded_at is not None or not line.n_done:
            return None
        sentence = _("No results have been viewed yet: %(done)d of %(total)d answers are in.")
        return step(_("Results"), sentence % numbers, "study")
    if study.state == StudyState.FROZEN:
        sentence = _("The design is frozen. Readers can read as soon as the study is open.")
        return step(_("Open the study"), sentence, "study-open", is_act=True)
    if not line.n_readers:
        return step(_("Invite readers"), _("The study is open, and nobody reads in it yet."), "study-invite")
    if line.n_done >= line.n_total:
        sentence = _("All %(total)d answers are in: close the study.")
        return step(_("Close the study"), sentence % numbers, "study-close", is_act=True)
    sentence = _("%(done)d of %(total)d answers are in.")
    return step(_("Monitor readers"), sentence % numbers, "study-watch", is_due=False)


def deadline_of(enrolment: Enrolment) -> datetime | None:
    """That of this reader where it was extended, otherwise that of the study."""
    return enrolment.deadline_at or enrolment.study.deadline_at


def is_past(enrolment: Enrolment, at: datetime) -> bool:
    deadline = deadline_of(enrolment)
    return deadline is not None and at > deadline


def study_deadline_text(study: ReaderStudy) -> str:
    """Empty without a deadline."""
    return time_text(study.deadline_at, study.time_zone) if study.deadline_at else ""


def deadline_text(enrolment: Enrolment) -> str:
    """Empty without a deadline."""
    deadline = deadline_of(enrolment)
    return time_text(deadline, enrolment.study.time_zone) if deadline else ""


def unfinished(study: ReaderStudy) -> QuerySet[Enrolment]:
    """Readers with an account who are in the study and have not come to its end."""
    return Enrolment.objects.filter(
        study=study, reader__isnull=False, finished_at=None, withdrawn_at=None, replaced_at=None
    )
