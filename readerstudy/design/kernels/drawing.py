"""Rule "cells-1": which questions a study draws, stratified by task and difficulty, seeded, by patient; what it keeps
of a draw, and what that does to the pooled number. Pure.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Annotated, Any

from msgspec import Meta, Struct
from msgspec.structs import asdict

from annotation.enums import Difficulty, Task, _
from annotation.statistics.kernels.sampling import proportional
from readerstudy.design.kernels.documents import DesignRefused, Document, Rules, Text, decode, within
from readerstudy.design.kernels.ordering import Purpose, branch, shuffled

RULE = "cells-1"  # change the name when a change would draw other questions
ANY = "any"

Cell = tuple[str, str]  # task, difficulty


class Candidate(Struct, frozen=True):
    """A question that could be drawn. ``patient`` is that of the exam where no patient is known."""

    revision_id: int
    number: int
    task: str
    difficulty: str
    patient: str

    @property
    def cell(self) -> Cell:
        return (self.task, self.difficulty)


Cases = Annotated[int, Meta(ge=0, le=100_000)]


class Quota(Document, frozen=True):
    """So many cases of these cells; "any" means all tasks or all difficulties."""

    n: Cases = 0
    task: Text = ANY
    difficulty: Text = ANY

    def covers(self, cell: Cell) -> bool:
        return self.task in (ANY, cell[0]) and self.difficulty in (ANY, cell[1])


class DrawDocument(Document, frozen=True, kw_only=True):
    """``n`` cases of the main block. Quotas fix some of them; the others are shared in proportion to the pool."""

    n: Annotated[int, Meta(ge=1, le=100_000)] = 200
    quotas: tuple[Quota, ...] = ()
    n_practice: Annotated[int, Meta(ge=0, le=100)] = 0
    n_sets: Annotated[int, Meta(ge=1, le=20)] = 1
    n_shared: Cases = 0  # cases of the main block that stand in every set


class DrawRequest(DrawDocument, frozen=True, kw_only=True):
    """The same with what the rules say."""

    several_per_patient: bool = False


class CellCount(Struct, frozen=True):
    """One cell: its questions in the pool, and how many of them are drawn."""

    task: str
    difficulty: str
    n_pool: int
    n_drawn: int


class Drawing(Struct, frozen=True):
    """What is drawn: main and practice block by random rank, the sets as indices into the main block."""

    main: list[Candidate]
    practice: list[Candidate]
    sets: list[list[int]]
    cells: list[CellCount]


def cell_counts(candidates: Iterable[Candidate]) -> dict[Cell, int]:
    """Questions of each task and difficulty, in the order of the vocabularies."""
    counts: dict[Cell, int] = defaultdict(int)
    for one in candidates:
        counts[one.cell] += 1
    tasks, difficulties = Task.values(), Difficulty.values()
    return {cell: counts[cell] for cell in sorted(counts, key=lambda c: (tasks.index(c[0]), difficulties.index(c[1])))}


def allocate(counts: Mapping[Cell, int], request: DrawRequest) -> dict[Cell, int]:
    """How many cases each cell gives. Refused where the pool cannot give them."""
    shares = dict.fromkeys(counts, 0)
    free = dict(counts)
    left = request.n
    for quota in request.quotas:
        covered = {cell: size for cell, size in counts.items() if quota.covers(cell)}
        if any(cell not in free for cell in covered):
            raise DesignRefused(
                "quotas_overlap", _("Two quotas speak of the same questions (%(what)s)."), what=_named(quota)
            )
        if sum(covered.values()) < quota.n:
            sentence = _("The quota for %(what)s asks for %(n)s questions, and the pool holds %(held)s.")
            raise DesignRefused("pool_too_small", sentence, what=_named(quota), n=quota.n, held=sum(covered.values()))
        shares.update(_shared(covered, quota.n))
        left -= quota.n
        for cell in covered:
            del free[cell]
    if left < 0:
        raise DesignRefused(
            "quotas_exceed", _("The quotas ask for more than the %(n)s cases of the study."), n=request.n
        )
    if left > sum(free.values()):
        raise DesignRefused(
            "pool_too_small",
            _("You asked for %(n)s cases, and only %(held)s questions qualify. Ask for fewer, or widen the pool."),
            n=left if request.quotas else request.n,
            held=sum(free.values()),
        )
    shares.update(_shared(free, left))
    return shares


def _shared(counts: Mapping[Cell, int], n: int) -> dict[Cell, int]:
    by_name = {"\n".join(cell): size for cell, size in counts.items()}
    return dict(zip(counts, proportional(by_name, n).values(), strict=True))


def _named(quota: Quota) -> str:
    return f"{quota.task}, {quota.difficulty or 'unknown'}"


def draw(candidates: Sequence[Candidate], request: DrawRequest, seed: int) -> Drawing:
    """Draw main block, practice block and sets. Refused where the pool cannot give them.

    Each question has a random rank made from the seed and its number alone; each cell gives its questions of lowest
    rank. With one question per patient the scarcest cells choose first. The practice block is drawn from patients
    without a case in the main block.
    """
    counts = cell_counts(candidates)
    allocation = allocate(counts, request)
    ranked = _ranked(candidates, branch(seed, Purpose.CASES))
    main = _chosen(ranked, allocation, several=request.several_per_patient)
    taken = {one.patient for one in main}
    practice = _practice(candidates, request, taken, seed)
    cells = [
        CellCount(task, difficulty, size, allocation[task, difficulty]) for (task, difficulty), size in counts.items()
    ]
    return Drawing(main, practice, split_sets(main, request.n_sets, request.n_shared, seed), cells)


def _ranked(candidates: Iterable[Candidate], seed: int) -> list[Candidate]:
    by_number = {one.number: one for one in candidates}
    return [by_number[number] for number in shuffled(list(by_number), seed)]


def _chosen(ranked: Sequence[Candidate], allocation: Mapping[Cell, int], *, several: bool) -> list[Candidate]:
    members: dict[Cell, list[Candidate]] = defaultdict(list)
    for one in ranked:
        members[one.cell].append(one)
    chosen: set[int] = set()
    taken: set[str] = set()
    for cell in sorted(members, key=lambda cell: (len(members[cell]) - allocation[cell], cell)):
        found = _first(members[cell], allocation[cell], set() if several else taken, several=several)
        if len(found) < allocation[cell]:
            raise DesignRefused(
                "too_few_patients",
                _(
                    "With one question per patient only %(found)s of the %(n)s questions for %(task)s, %(difficulty)s "
                    "can be drawn. Ask for fewer, or allow several questions per patient."
                ),
                found=len(found),
                n=allocation[cell],
                task=cell[0],
                difficulty=cell[1] or "unknown",
            )
        taken.update(one.patient for one in found)
        chosen.update(one.number for one in found)
    return [one for one in ranked if one.number in chosen]


def _first(members: Iterable[Candidate], n: int, taken: Collection[str], *, several: bool) -> list[Candidate]:
    """The first ``n`` of patients who are not taken; of each patient one, unless there may be several."""
    found: list[Candidate] = []
    patients = set(taken)
    for one in members:
        if len(found) == n:
            break
        if several or one.patient not in patients:
            found.append(one)
            patients.add(one.patient)
    return found


def _practice(
    candidates: Sequence[Candidate], request: DrawRequest, taken: Collection[str], seed: int
) -> list[Candidate]:
    ranked = _ranked(candidates, branch(seed, Purpose.PRACTICE)) if request.n_practice else []
    found = _first(ranked, request.n_practice, taken, several=False)
    if len(found) < request.n_practice:
        sentence = _("Only %(found)s of %(n)s practice cases can be drawn from patients who are not in the main block.")
        raise DesignRefused("too_few_patients", sentence, found=len(found), n=request.n_practice)
    return found


def split_sets(main: Sequence[Candidate], n_sets: int, n_shared: int, seed: int) -> list[list[int]]:
    """Indices into the main block for each set: the shared cases in all of them, the others dealt out one by one.

    Cases are dealt cell by cell, so that the sets are alike in tasks and difficulties.
    """
    if n_sets < 1 or not 0 <= n_shared <= len(main):
        raise DesignRefused("bad_sets", _("The sets cannot share %(n)s of %(all)s cases."), n=n_shared, all=len(main))
    everything = list(range(len(main)))
    if n_sets == 1:
        return [everything]
    members: dict[Cell, list[int]] = defaultdict(list)
    for place in shuffled(everything, branch(seed, Purpose.SETS)):
        members[main[place].cell].append(place)
    quota = _shared({cell: len(places) for cell, places in members.items()}, n_shared)
    shared = [place for cell, places in members.items() for place in places[: quota[cell]]]
    dealt = [place for cell, places in members.items() for place in places[quota[cell] :]]
    return [sorted(shared + dealt[number::n_sets]) for number in range(n_sets)]


# --- what a study keeps of a draw -----------------------------------------------------------------------
def request_document(request: DrawRequest, accepted_because: str = "") -> dict[str, Any]:
    """What was asked for, and by which rule; ``accepted_because`` makes every question of the bank a candidate."""
    asked = {**asdict(request), "quotas": [asdict(quota) for quota in request.quotas]}
    del asked["several_per_patient"]
    return {"rule": RULE, **asked, "accepted_because": accepted_because}


def drawn_document(request: DrawRequest, drawing: Drawing, accepted_because: str = "") -> dict[str, Any]:
    """The same, and how many each cell gave."""
    return {
        **request_document(request, accepted_because),
        "n_pool": sum(cell.n_pool for cell in drawing.cells),
        "cells": [[cell.task, cell.difficulty, cell.n_pool, cell.n_drawn] for cell in drawing.cells],
    }


class _StoredDraw(DrawDocument, frozen=True, kw_only=True):
    rule: Text = RULE
    accepted_because: Text = ""
    n_pool: Any = 0
    cells: tuple[Any, ...] = ()


def read_request(draw: Mapping[str, Any], rules: Rules) -> DrawRequest:
    """What is asked for; the rules say whether a patient may come twice. Refused with the place in the document."""
    with within("draw"):
        stored = decode(draw, _StoredDraw)
        if stored.rule != RULE:
            raise DesignRefused("other_rule", f"This program draws by the rule {RULE}.", field="rule")
        for number, cell in enumerate(stored.cells, 1):
            _check_cell(cell, f"cells {number}")
        for number, quota in enumerate(stored.quotas, 1):
            _check_word(quota.task, Task, f"quotas {number}, task")
            _check_word(quota.difficulty, Difficulty, f"quotas {number}, difficulty")
    asked = {name: getattr(stored, name) for name in DrawDocument.__struct_fields__}
    return DrawRequest(**asked, several_per_patient=rules.several_per_patient)


def _check_cell(cell: object, place: str) -> None:
    match cell:
        case [str(task), str(difficulty), int(), int()] if task in Task.values() and difficulty in Difficulty.values():
            return
    raise DesignRefused("bad_value", "A task, a difficulty and two numbers are expected.", field=place)


def _check_word(value: str, known: type[Task] | type[Difficulty], place: str) -> None:
    if value not in (ANY, *known.values()):
        words = ", ".join(filter(None, known.values()))
        raise DesignRefused("bad_value", f"One of: {ANY}, {words}.", field=place)


def cells_of(draw: Mapping[str, Any]) -> list[CellCount]:
    """What each cell gave, of a stored draw; empty for a list of cases."""
    return [CellCount(*cell) for cell in draw.get("cells", [])]


# --- what a draw does to the pooled number ----------------------------------------------------------------
class CellEffect(Struct, frozen=True):
    """One task (or cell): its share of the pool, its share of the study, and how often its cases count."""

    name: str
    n_pool: int
    n_study: int
    pool_share: float
    study_share: float

    @property
    def weight(self) -> float | None:
        """How much more a case of it weighs in the study than in the bank; None where the bank holds none."""
        return self.study_share / self.pool_share if self.pool_share else None


class QuotaEffect(Struct, frozen=True):
    """What an allocation does to the pooled number.

    ``n_effective``: so many cases in the mix of the pool would tell as much about the pool as these do after
    weighting, when all tasks are equally hard: 1 / sum W_h^2 / n_h. None when a cell of the pool gives no case.
    """

    rows: list[CellEffect]
    n_effective: float | None

    @property
    def changes_the_mix(self) -> bool:
        return any(abs(row.study_share - row.pool_share) > 0.005 for row in self.rows)


def effect_by_task(cells: Iterable[CellCount]) -> QuotaEffect:
    """The effect of an allocation, task by task: also how many questions of each task the study will hold."""
    pool: dict[str, int] = defaultdict(int)
    study: dict[str, int] = defaultdict(int)
    for cell in cells:
        pool[cell.task] += cell.n_pool
        study[cell.task] += cell.n_drawn
    all_pool, all_study = sum(pool.values()) or 1, sum(study.values()) or 1
    rows = [
        CellEffect(task, pool[task], study[task], pool[task] / all_pool, study[task] / all_study)
        for task in Task.values()
        if pool[task] or study[task]
    ]
    pooled = [row for row in rows if row.n_pool]
    if not pooled or any(row.n_study == 0 for row in pooled):
        return QuotaEffect(rows, None)
    return QuotaEffect(rows, 1 / sum(row.pool_share**2 / row.n_study for row in pooled))
