"""The cases of a draft as a coordinator chooses them: looked at first, then stored as they were seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _
from msgspec import structs

from annotation.models import Revision, User
from readerstudy.design.case_names import Name
from readerstudy.design.case_rows import draw_cases, list_cases, preview_draw, resolve
from readerstudy.design.drafting import update_rules, update_seed
from readerstudy.design.kernels.documents import canonical, sha256_of
from readerstudy.design.kernels.drawing import Candidate, CellCount, DrawRequest, cell_counts
from readerstudy.design.kernels.rules import read_rules
from readerstudy.design.pool import candidates_among, is_accepted, mates_of_patient, pool_cells, verdicts_on
from readerstudy.enums import Block
from readerstudy.models import ReaderStudy, StudyCase
from readerstudy.study.locking import StudyRefused, lock_study


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What to take: questions by own id or number, or, without any, what the request draws."""

    seed: int
    request: DrawRequest
    names: tuple[Name, ...] = ()
    practice: tuple[Name, ...] = ()
    accepted_because: str = ""


@dataclass(frozen=True)
class Choice:
    """The cases as they would be stored. ``sets`` hold numbers of main cases, from 1."""

    main: list[Candidate]
    practice: list[Candidate]
    sets: list[list[int]]
    cells: list[CellCount]
    sha256: str
    unaccepted: list[int]  # numbers of questions that reviews do not accept
    same_patient: list[list[int]]  # numbers of questions that share a patient or exam

    def cells_of_set(self, place: int) -> list[CellCount]:
        """How many cases of each cell the readers of one set get."""
        counts = cell_counts([self.main[number - 1] for number in self.sets[place]])
        return [replace(cell, n_drawn=counts.get((cell.task, cell.difficulty), 0)) for cell in self.cells]


def preview_choice(study: ReaderStudy, wanted: Wanted) -> Choice:
    """Preview of the cases. Raises StudyRefused."""
    if wanted.names:
        return _listed(study, wanted)
    drawing = preview_draw(study.bank, wanted.request, seed=wanted.seed, accepted_because=wanted.accepted_because)
    sets = [[place + 1 for place in places] for places in drawing.sets]
    return _choice(study, drawing.main, drawing.practice, sets, drawing.cells, bool(wanted.accepted_because))


def _listed(study: ReaderStudy, wanted: Wanted) -> Choice:
    found = resolve(study.bank, [*wanted.names, *wanted.practice])
    listed = candidates_among(study.bank, Revision.objects.all(), list(found.values()))
    by_revision = {one.revision_id: one for one in listed}
    main = [by_revision[found[name]] for name in wanted.names]
    practice = [by_revision[found[name]] for name in wanted.practice]
    counts = cell_counts(main)
    pool = pool_cells(study.bank)
    cells = [CellCount(*cell, pool[cell].n, n) for cell, n in counts.items()]
    return _choice(study, main, practice, [list(range(1, len(main) + 1))], cells, True)


def _choice(
    study: ReaderStudy,
    main: list[Candidate],
    practice: list[Candidate],
    sets: list[list[int]],
    cells: list[CellCount],
    may_be_unaccepted: bool,
) -> Choice:
    everything = [*main, *practice]
    verdicts = verdicts_on(study.bank) if may_be_unaccepted else {}
    unaccepted = [one.number for one in everything if not is_accepted(verdicts.get(one.revision_id))]
    return Choice(
        main=main,
        practice=practice,
        sets=sets,
        cells=cells,
        sha256=_fingerprint([one.revision_id for one in main], [one.revision_id for one in practice], sets),
        unaccepted=sorted(unaccepted) if may_be_unaccepted else [],
        same_patient=sorted(mates_of_patient(study.bank, [one.revision_id for one in everything]).values()),
    )


def _fingerprint(main: Sequence[int], practice: Sequence[int], sets: Sequence[Sequence[int]]) -> str:
    return sha256_of(canonical([list(main), list(practice), [sorted(one) for one in sets]]))


@transaction.atomic
def store_choice(study: ReaderStudy, wanted: Wanted, *, seen: str, actor: User | None, at: datetime) -> None:
    """Store the cases that a person looked at: ``seen`` is the sha256 of that Choice.

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
    if stored_choice(study) != seen:
        raise StudyRefused(
            "changed_meanwhile", _("The draw now gives other cases than the preview: check the new ones, then save.")
        )


def stored_choice(study: ReaderStudy) -> str:
    """The sha256 of the Choice that stands."""
    rows = list(StudyCase.objects.filter(study=study).order_by("number").values_list("block", "revision_id"))
    of_block = {block: [revision for of, revision in rows if of == block] for block in Block}
    through = StudyCase.sets.through.objects.filter(caseset__study=study).order_by("caseset__number")
    sets: dict[int, list[int]] = {}
    for number, case in through.values_list("caseset__number", "studycase__number"):
        sets.setdefault(number, []).append(case)
    return _fingerprint(of_block[Block.MAIN], of_block[Block.PRACTICE], list(sets.values()))
