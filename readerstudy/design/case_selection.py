"""Which cases a draft holds: a list or a draw, looked at first, then stored as rows in place of what the draft had."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from django.db import transaction
from django.utils.translation import gettext as _
from msgspec import Struct, structs
from msgspec.structs import replace

from annotation.audit.recording import record
from annotation.ingest.completeness import images_of_questions
from annotation.models import QuestionBank, Revision, User
from annotation.site.sentences import listed
from annotation.site.sorted_tables import analyze
from readerstudy.design.drafting import update_rules, update_seed
from readerstudy.design.kernels.documents import DesignRefused, canonical, read_rules, sha256_of
from readerstudy.design.kernels.drawing import (
    Candidate,
    CellCount,
    Drawing,
    DrawRequest,
    cell_counts,
    draw,
    drawn_document,
)
from readerstudy.design.questions import (
    Name,
    accepted_among,
    awaiting_review,
    candidates_among,
    candidates_of,
    find_revisions,
    in_parts,
    mates_of_patient,
    pool_cells,
    pool_of,
)
from readerstudy.enums import Block
from readerstudy.models import CaseSet, ReaderStudy, StudyCase
from readerstudy.study.permissions import StudyRefused, check_draft, lock_study

ALL_CASES = "All cases"


class ChosenCase(NamedTuple):
    """A question that becomes a case, and why it is used where reviews do not accept it."""

    revision_id: int
    accepted_because: str = ""


class CaseSelection(Struct, frozen=True):
    """The cases of a study: ``sets`` are names with numbers of main cases, from 1."""

    main: list[ChosenCase]
    practice: list[ChosenCase]
    sets: Sequence[tuple[str, Sequence[int]]]


def preview_draw(bank: QuestionBank, request: DrawRequest, *, seed: int, accepted_because: str = "") -> Drawing:
    """What would be drawn, without storing anything. With a reason every question of the bank is a candidate."""
    candidates = candidates_of(bank) if accepted_because else pool_of(bank)
    try:
        return draw(candidates, request, seed)
    except DesignRefused as refusal:
        raise StudyRefused(refusal.code, _(refusal.template) % refusal.facts) from refusal


@transaction.atomic
def draw_cases(
    study: ReaderStudy,
    request: DrawRequest,
    *,
    actor: User | None,
    at: datetime,
    seed: int | None = None,
    accepted_because: str = "",
) -> None:
    """Draw the cases of a draft anew, practice block and sets included."""
    lock_study(study)
    check_draft(study)
    study.seed = study.seed if seed is None else seed
    request = structs.replace(request, several_per_patient=read_rules(study.rules).several_per_patient)
    drawing = preview_draw(study.bank, request, seed=study.seed, accepted_because=accepted_because)
    study.draw = drawn_document(request, drawing, accepted_because)
    study.save(update_fields=["seed", "draw"])
    store_case_rows(study, case_rows_of(study.bank, drawing, accepted_because))
    facts = {"n": len(drawing.main), "n_practice": len(drawing.practice), "seed": study.seed}
    record("study.cases_drawn", actor=actor, at=at, subject=study, facts=facts)


def case_rows_of(bank: QuestionBank, drawing: Drawing, accepted_because: str) -> CaseSelection:
    """The rows of a draw; the reason is stored only with questions that are not accepted."""
    accepted = accepted_among([one.revision_id for one in (*drawing.main, *drawing.practice)])

    def chosen(one: Candidate) -> ChosenCase:
        return ChosenCase(one.revision_id, "" if one.revision_id in accepted else accepted_because)

    sets = _numbered(drawing)
    names = [ALL_CASES] if len(sets) == 1 else [f"Set {number}" for number in range(1, len(sets) + 1)]
    return CaseSelection(
        [chosen(one) for one in drawing.main],
        [chosen(one) for one in drawing.practice],
        list(zip(names, sets, strict=True)),
    )


def _numbered(drawing: Drawing) -> list[list[int]]:
    """The sets as numbers of main cases, from 1."""
    return [[place + 1 for place in places] for places in drawing.sets]


@transaction.atomic
def list_cases(
    study: ReaderStudy,
    names: Sequence[Name],
    *,
    actor: User | None,
    at: datetime,
    practice: Sequence[Name] = (),
    accepted_because: str = "",
) -> None:
    """Make these questions the cases of a draft, in this order, in one set.

    The reason is stored with every question that is not accepted, or whose exam lost an image.
    """
    lock_study(study)
    check_draft(study)
    found = resolve(study.bank, [*names, *practice])
    accepts_none = accepted_among(found.values()) - _n_removed(list(found.values())).keys()

    def chosen(name: Name) -> ChosenCase:
        return ChosenCase(found[name], "" if found[name] in accepts_none else accepted_because)

    sets = [(ALL_CASES, range(1, len(names) + 1))]
    store_case_rows(study, CaseSelection([chosen(n) for n in names], [chosen(n) for n in practice], sets))
    study.draw = {}
    study.save(update_fields=["draw"])
    facts = {"n": len(names), "n_practice": len(practice)}
    record("study.cases_listed", actor=actor, at=at, subject=study, facts=facts)


def resolve(bank: QuestionBank, names: Sequence[Name]) -> dict[Name, int]:
    """The current revision of each named question. Refused for unknown names, and for one that is named twice."""
    found = {name: revision.pk for name, revision in find_revisions(bank, set(names)).items()}
    unknown = list(dict.fromkeys(str(name) for name in names if name not in found))
    if unknown:
        sentence = _("“%(bank)s” has no such question: %(names)s.") % {"bank": bank.name, "names": listed(unknown)}
        raise StudyRefused("unknown_questions", sentence)
    first_of: dict[int, int] = {}
    twice = [str(name) for place, name in enumerate(names) if first_of.setdefault(found[name], place) != place]
    if twice:
        sentence = _("A question can be in a study once. Named twice: %(names)s.") % {"names": listed(twice)}
        raise StudyRefused("named_twice", sentence)
    return found


def _n_removed(revisions: Sequence[int]) -> dict[int, int]:
    """Of these revisions those whose exam lost images that somebody removed: how many."""
    parts = [Revision.objects.filter(pk__in=part) for part in in_parts(revisions)]
    rows = [row for part in parts for row in part.values_list("pk", "question__exam_id", "images_left_out")]
    return {pk: len(images.removed) for pk, images in images_of_questions(rows).items() if images.removed}


def store_case_rows(study: ReaderStudy, selection: CaseSelection) -> None:
    """Write the cases and sets of a draft in place of what it had. Must run inside the transaction of an act.

    Refused for a generated question that is not accepted: no reason replaces reviews.
    """
    _check_generated(study.bank, [one.revision_id for one in (*selection.main, *selection.practice)])
    study.cases.all().delete()
    rows = [
        StudyCase(study=study, block=block, number=number, revision_id=pk, accepted_because=reason.strip())
        for block, chosen in ((Block.MAIN, selection.main), (Block.PRACTICE, selection.practice))
        for number, (pk, reason) in enumerate(chosen, 1)
    ]
    lost = _n_removed([row.revision_id for row in rows if row.accepted_because])
    for row in rows:
        row.n_lost = lost.get(row.revision_id, 0)
    StudyCase.objects.bulk_create(rows, batch_size=1000)
    pk_of = {row.number: row.pk for row in rows if row.block == Block.MAIN}
    _store_sets(study, [(name, [pk_of[number] for number in numbers]) for name, numbers in selection.sets])
    analyze(len(rows), StudyCase, CaseSet.cases.through)


def _check_generated(bank: QuestionBank, revisions: Sequence[int]) -> None:
    awaiting = awaiting_review(bank)
    refused = [pk for pk in revisions if pk in awaiting]
    if refused:
        numbers = Revision.objects.filter(pk__in=refused).values_list("question__number", flat=True)
        sentence = _(
            "A model wrote these questions, and reviews do not accept them: %(names)s. Review them first, or leave "
            "them out."
        )
        names = listed([str(number) for number in sorted(numbers)])
        raise StudyRefused("generated_not_accepted", sentence % {"names": names})


def _store_sets(study: ReaderStudy, sets: Sequence[tuple[str, Sequence[int]]]) -> None:
    """Sets keep their row by number: an invitation that names one stays good."""
    extra = study.sets.filter(number__gt=len(sets))
    if extra.filter(pk__in=study.invitations.values("case_set")).exists():
        raise StudyRefused("set_invited", _("Somebody is invited to a set that would go: revoke the invitation first."))
    extra.delete()
    through = CaseSet.cases.through
    for number, (name, cases) in enumerate(sets, 1):
        case_set, _made = CaseSet.objects.update_or_create(study=study, number=number, defaults={"name": name})
        rows = [through(caseset_id=case_set.pk, studycase_id=pk) for pk in cases]
        through.objects.bulk_create(rows, batch_size=1000)


# --- looked at, then stored as it was seen --------------------------------------------------------
class CaseRequest(Struct, frozen=True, kw_only=True):
    """What to take: questions by own id or number, or, without any, what the request draws."""

    seed: int
    request: DrawRequest
    names: tuple[Name, ...] = ()
    practice: tuple[Name, ...] = ()
    accepted_because: str = ""


class CasePreview(Struct, frozen=True):
    """The cases as they would be stored. ``sets`` hold numbers of main cases, from 1."""

    main: list[Candidate]
    practice: list[Candidate]
    sets: list[list[int]]
    cells: list[CellCount]
    sha256: str
    unaccepted: list[int]  # numbers of questions that are not accepted
    same_patient: list[list[int]]  # numbers of questions that share a patient or exam

    def cells_of_set(self, place: int) -> list[CellCount]:
        """How many cases of each cell the readers of one set get."""
        counts = cell_counts([self.main[number - 1] for number in self.sets[place]])
        return [replace(cell, n_drawn=counts.get((cell.task, cell.difficulty), 0)) for cell in self.cells]


def preview_cases(study: ReaderStudy, wanted: CaseRequest) -> CasePreview:
    """Preview of the cases. Raises StudyRefused."""
    if wanted.names:
        return _listed(study, wanted)
    drawing = preview_draw(study.bank, wanted.request, seed=wanted.seed, accepted_because=wanted.accepted_because)
    return _preview(study, drawing.main, drawing.practice, _numbered(drawing), drawing.cells)


def _listed(study: ReaderStudy, wanted: CaseRequest) -> CasePreview:
    found = resolve(study.bank, [*wanted.names, *wanted.practice])
    candidates = candidates_among(study.bank, list(found.values()))
    by_revision = {one.revision_id: one for one in candidates}
    main = [by_revision[found[name]] for name in wanted.names]
    practice = [by_revision[found[name]] for name in wanted.practice]
    counts = cell_counts(main)
    pool = pool_cells(study.bank)
    cells = [CellCount(*cell, pool[cell].n, n) for cell, n in counts.items()]
    return _preview(study, main, practice, [list(range(1, len(main) + 1))], cells)


def _preview(
    study: ReaderStudy, main: list[Candidate], practice: list[Candidate], sets: list[list[int]], cells: list[CellCount]
) -> CasePreview:
    everything = [*main, *practice]
    accepted = accepted_among([one.revision_id for one in everything])
    return CasePreview(
        main=main,
        practice=practice,
        sets=sets,
        cells=cells,
        sha256=_fingerprint([one.revision_id for one in main], [one.revision_id for one in practice], sets),
        unaccepted=sorted(one.number for one in everything if one.revision_id not in accepted),
        same_patient=sorted(mates_of_patient(study.bank, [one.revision_id for one in everything]).values()),
    )


def _fingerprint(main: Sequence[int], practice: Sequence[int], sets: Sequence[Sequence[int]]) -> str:
    return sha256_of(canonical([list(main), list(practice), [sorted(one) for one in sets]]))


@transaction.atomic
def store_cases(study: ReaderStudy, wanted: CaseRequest, *, seen: str, actor: User | None, at: datetime) -> None:
    """Store the cases that a person looked at: ``seen`` is the sha256 of that preview.

    Raises StudyRefused, and stores nothing, when other cases would come out now, and as drawing and listing do.
    """
    lock_study(study)
    rules = structs.replace(read_rules(study.rules), several_per_patient=wanted.request.several_per_patient)
    update_rules(study, rules, actor=actor, at=at)
    because = wanted.accepted_because
    if wanted.names:
        update_seed(study, wanted.seed, actor=actor, at=at)
        names = {"names": list(wanted.names), "practice": list(wanted.practice)}
        list_cases(study, **names, actor=actor, at=at, accepted_because=because)
    else:
        draw_cases(study, wanted.request, actor=actor, at=at, seed=wanted.seed, accepted_because=because)
    if stored_cases_sha256(study) != seen:
        sentence = _("The draw now gives other cases than the preview: check the new ones, then save.")
        raise StudyRefused("changed_meanwhile", sentence)


def stored_cases_sha256(study: ReaderStudy) -> str:
    """The sha256 that a preview of the stored cases has."""
    rows = list(StudyCase.objects.filter(study=study).order_by("number").values_list("block", "revision_id"))
    of_block = {block: [revision for of, revision in rows if of == block] for block in Block}
    through = StudyCase.sets.through.objects.filter(caseset__study=study).order_by("caseset__number")
    sets: dict[int, list[int]] = {}
    for number, case in through.values_list("caseset__number", "studycase__number"):
        sets.setdefault(number, []).append(case)
    return _fingerprint(of_block[Block.MAIN], of_block[Block.PRACTICE], list(sets.values()))
