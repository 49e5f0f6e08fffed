"""A walk through the first cases of a study as a reader sees them. Nothing is written, not even where the walk is."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from annotation.models import AnswerKey
from readerstudy.design.kernels.documents import Rules, read_rules
from readerstudy.design.kernels.ordering import LETTERS, Purpose, branch, in_order, shown_order
from readerstudy.design.shown import Shown, shown_as_frozen, shown_now, views_of
from readerstudy.enums import Block, StudyState
from readerstudy.models import Enrolment, ReaderStudy, StudyCase
from readerstudy.reading.case_opening import Feedback
from readerstudy.reading.prefetched import ReaderPosition, not_prefetched
from readerstudy.reading.showing import ShownCase, ShownState

MOST_MAIN = 10  # cases of the main block that a dry run shows
SESSION = "dry-run"


class DryRun(Struct, frozen=True):
    """The practice block and the first cases of the first set, in the order of their numbers."""

    study: ReaderStudy
    rules: Rules
    cases: Sequence[StudyCase]

    @property
    def n_practice(self) -> int:
        return sum(case.block == Block.PRACTICE for case in self.cases)

    def index_of(self, name: str) -> int:
        """0 for the first case. Refused where the dry run has no case of this name."""
        for index in range(len(self.cases)):
            if _name(index) == name:
                return index
        raise not_prefetched()


def dry_run_of(study: ReaderStudy) -> DryRun:
    cases = study.cases.select_related("revision__question").order_by("number")
    practice = list(cases.filter(block=Block.PRACTICE))
    first_set = study.sets.order_by("number").first()
    main = list(cases.filter(block=Block.MAIN, sets=first_set)[:MOST_MAIN]) if first_set else []
    return DryRun(study, read_rules(study.rules), [*practice, *main])


def dry_state(run: DryRun, n_behind: int, *, paused: bool = False) -> ShownState:
    """The state of the reading page when the first ``n_behind`` cases are answered: the same as a reader's page."""
    in_practice = n_behind < run.n_practice
    block = Block.PRACTICE if in_practice else Block.MAIN
    start = 0 if in_practice else run.n_practice
    n = run.n_practice if in_practice else len(run.cases) - run.n_practice
    done = max(0, min(n_behind - start, n))
    return ShownState(
        enrolment=Enrolment(study=run.study),
        rules=run.rules,
        position=ReaderPosition(block=block, n=n, done=done, prefetched=()),
        session=SESSION,
        paused=paused,
        cases=_shown(run, range(start + done, min(start + done + 1 + run.rules.n_ready, start + n)), start),
        last=None,
    )


def dry_feedback(run: DryRun, index: int, option: str) -> Feedback | None:
    """Of a practice case only, as readers get it."""
    case = run.cases[index]
    if case.block != Block.PRACTICE:
        return None
    truth = AnswerKey.objects.get(pk=case.revision_id)
    return Feedback(option == truth.key, truth.key, truth.explanation)


def _name(index: int) -> str:
    return f"dry-{index + 1}"


def _shown(run: DryRun, indices: Sequence[int], start: int) -> list[ShownCase]:
    cases = [run.cases[index] for index in indices]
    shown = shown_now(run.study, cases) if run.study.state == StudyState.DRAFT else shown_as_frozen(cases)
    return [_place(run, index, start, shown[case.pk]) for index, case in zip(indices, cases, strict=True)]


def _place(run: DryRun, index: int, start: int, shown: Shown) -> ShownCase:
    case = run.cases[index]
    views = views_of([(one.image_id, one.image.state, one.frozen) for one in shown.images])
    return ShownCase(
        id=_name(index),
        position=index - start + 1,
        stem=case.revision.stem,
        options=in_order(_order(run, case), case.revision.options),
        views=views.shown,
        withheld=views.withheld,
        information={"indication": "", **shown.information} if shown.information else None,
        opened=False,
        painted=False,
        choice="",
        choice_sequence=0,
        seconds_left=None,
        break_before=run.rules.has_break_before(case.block, index - start + 1),
        begins=0 < run.n_practice == index,
    )


def _order(run: DryRun, case: StudyCase) -> str:
    """Options in an order of the kind that a reader gets; which one they get is drawn at freeze."""
    if not run.rules.shuffle_options:
        return LETTERS
    seed = branch(run.study.seed, Purpose.OPTIONS, 0, 0, case.number)
    return shown_order(case.revision.stem, case.revision.options, seed)
