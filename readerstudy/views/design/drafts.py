"""The bar above the pages of a design, and its steps: arms, rules, readers; and cases: what the bank holds, a choice to
look at with what it can show, then to store. A frozen design only shows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from django.contrib import messages
from django.db.models import Count, Q
from django.http import Http404, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.vary import vary_on_headers
from msgspec import Struct

from annotation.enums import Difficulty
from annotation.models import Revision
from annotation.questionbank.priors import keys_of_questions
from annotation.site.permissions import is_coordinator
from annotation.site.sorted_tables import Columns, by_rank, sorted_page
from annotation.views.site.decorators import AuthenticatedRequest, asks_for_part, by
from readerstudy.acts.studies import coordinated_study, overseen_study
from readerstudy.design.case_selection import CasePreview, CaseRequest, preview_cases, store_cases
from readerstudy.design.checking import Hint, hints_in
from readerstudy.design.drafting import describe_study, update_arm, update_readers
from readerstudy.design.kernels.analysis_plan import read_analysis
from readerstudy.design.kernels.drawing import cells_of, effect_by_task
from readerstudy.design.kernels.ordering import orders_needed
from readerstudy.design.questions import PoolCell, n_with_lost_images, pool_cells
from readerstudy.enums import Block, StudyState
from readerstudy.forms.cases import DIFFICULTIES, TASKS, CasesForm
from readerstudy.forms.drafts import ArmForm, DraftForm, ReadersForm
from readerstudy.forms.rules import RulesForm
from readerstudy.models import ReaderStudy
from readerstudy.study.overview import has_texts
from readerstudy.study.permissions import StudyRefused, locked_study, may_coordinate_study
from readerstudy.views.access import person_page

# --- the bar: six steps, which of them are ready, which one is shown ------------------------------
STEPS = {
    "study-cases": gettext_lazy("Cases"),
    "study-arms": gettext_lazy("Arms"),
    "study-rules": gettext_lazy("Rules"),
    "study-readers": gettext_lazy("Readers"),
    "study-dry-run": gettext_lazy("Dry run"),
    "study-freeze": gettext_lazy("Freeze"),
}


class DesignStep(Struct, frozen=True):
    name: str
    label: str
    url: str
    is_done: bool
    is_current: bool


def steps_of(study: ReaderStudy, current: str = "", *, n_cases: int) -> list[DesignStep]:
    """The steps of a study. A dry run leaves no trace, so that nobody can say whether it was made."""
    frozen = study.state != StudyState.DRAFT
    done = {
        "study-cases": n_cases > 0,
        "study-arms": True,  # one arm is there from the beginning
        "study-rules": has_texts(study),
        "study-readers": study.n_readers > 0,
        "study-freeze": frozen,
    }
    return [
        DesignStep(name, str(label), reverse(name, args=[study.slug]), frozen or done.get(name, False), name == current)
        for name, label in STEPS.items()
    ]


# --- the short steps ------------------------------------------------------------------------------
Form = TypeVar("Form", bound=DraftForm)


def study_of_step(request: AuthenticatedRequest, slug: str) -> ReaderStudy:
    """To look at: for coordinators and administrators. To change: for coordinators."""
    find = coordinated_study if request.method == "POST" else overseen_study
    return find(request.user, slug)


def step_context(request: AuthenticatedRequest, study: ReaderStudy, name: str, **more: Any) -> dict[str, Any]:
    """What every step shows."""
    is_draft = study.state == StudyState.DRAFT
    coordinates = may_coordinate_study(request.user, study)
    return {
        "study": study,
        "title": STEPS[name],
        "steps": steps_of(study, name, n_cases=study.cases.filter(block=Block.MAIN).count()),
        "is_draft": is_draft,
        "coordinates": coordinates,
        "may_change": is_draft and coordinates,
        **more,
    }


def form_of_step(
    request: AuthenticatedRequest,
    study: ReaderStudy,
    form_of: Callable[[QueryDict | None], Form],
    store: Callable[[Form], None],
    sentence: str = "",
) -> tuple[Form, bool]:
    """The form of a step, and whether what was sent with it is stored.

    Nobody else stores between its looking at what is stored and its replacing that. Raises Http404 for a study that was
    deleted in the meantime.
    """
    if request.method != "POST":
        return form_of(None), False
    try:
        with locked_study(study):
            form = form_of(request.POST)
            is_stored = _is_stored(form, study, store)
    except StudyRefused as refusal:
        raise Http404(str(refusal)) from None
    if is_stored:
        messages.success(request, sentence or _("Stored."))
    return form, is_stored


def _is_stored(form: Form, study: ReaderStudy, store: Callable[[Form], None]) -> bool:
    """Do it where the form is whole; a refusal is read on the form."""
    if not form.is_valid() or form.is_overtaken():
        return False
    try:
        store(form)
    except StudyRefused as refusal:
        study.refresh_from_db()  # what the refused act had changed before it was refused
        form.add_error(None, str(refusal))
        return False
    return True


@person_page("GET", "HEAD", "POST")
def study_arms(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """What readers see beside the images and the question."""
    study = study_of_step(request, slug)

    def form_of(sent: QueryDict | None) -> ArmForm:
        return ArmForm.of(study.arms.get(number=1), sent)

    def store(form: ArmForm) -> None:
        shown = {name: form.cleaned_data[name] for name in ("information", "aid")}
        update_arm(study, **shown, **by(request))

    form, is_stored = form_of_step(request, study, form_of, store)
    if is_stored:
        return redirect("study-rules", slug)
    context = step_context(request, study, "study-arms", form=form)
    return render(request, "readerstudy/design/arms.html", context, status=422 if form.errors else 200)


@person_page("GET", "HEAD", "POST")
def study_rules(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """How cases are read, the texts for readers, and how the study is analysed."""
    study = study_of_step(request, slug)

    def store(form: RulesForm) -> None:
        describe_study(study, rules=form.rules(), analysis=form.analysis(), texts=form.texts(), **by(request))

    form, is_stored = form_of_step(request, study, lambda sent: RulesForm(study, sent), store)
    if is_stored:
        return redirect("study-readers", slug)
    context = step_context(request, study, "study-rules", form=form)
    return render(request, "readerstudy/design/rules.html", context, status=422 if form.errors else 200)


@person_page("GET", "HEAD", "POST")
def study_readers(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """How many people read, and how many orders are drawn for them."""
    study = study_of_step(request, slug)

    def store(form: ReadersForm) -> None:
        before = study.analysis.get("inference")
        update_readers(study, **form.numbers(), **by(request))
        after = study.analysis.get("inference")
        if after != before:
            sentence = _("The analysis plan follows the number of readers: its inference is now “%(inference)s”.")
            messages.info(request, sentence % {"inference": after})

    form, is_stored = form_of_step(request, study, lambda sent: ReadersForm.of(study, sent), store)
    if is_stored:
        return redirect("study-dry-run", slug)
    sets = study.sets.annotate(
        n_cases=Count("cases", distinct=True),
        n_orders=Count("orders", distinct=True),
        n_taken=Count("orders", filter=Q(orders__enrolment__isnull=False), distinct=True),
    )
    more = {"form": form, "sets": list(sets), "n_orders": orders_needed(study.n_readers, study.n_orders)}
    context = step_context(request, study, "study-readers", **more)
    return render(request, "readerstudy/design/readers.html", context, status=422 if form.errors else 200)


PER_PAGE, LOOKED_AT = 50, 50
SORTED_BY: Columns = {
    "case": "number",
    "question": "revision__question__number",
    "task": "revision__task",
    "difficulty": by_rank("revision__difficulty", Difficulty.values()),
}
STORE = "store"
FEW = 30  # cases of a task, below which the page says that they tell little


@person_page("GET", "HEAD", "POST")
@vary_on_headers("HX-Request")
def study_cases(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Choose, look at it, then store. Nothing is stored before somebody has looked at what would be."""
    study = study_of_step(request, slug)

    def form_of(sent: QueryDict | None) -> CasesForm:
        return CasesForm(study, sent)

    def store(form: CasesForm) -> None:
        store_cases(study, _wanted(form), seen=form.cleaned_data["seen"], **by(request))

    if request.POST.get("do") == STORE:
        form, is_stored = form_of_step(request, study, form_of, store, _("The cases are stored."))
        if is_stored:
            return redirect("study-cases", slug)
    else:  # to look takes a large bank seconds, in which nobody need wait
        form = form_of(request.POST if request.method == "POST" else None)
    context: dict[str, Any] = {"form": form}
    if form.names_a_choice:
        context |= _preview(request, study, form, _wanted(form))
    return _page(request, study, context, status=422 if form.errors else 200)


def _wanted(form: CasesForm) -> CaseRequest:
    asked = form.cleaned_data
    return CaseRequest(
        seed=asked["seed"],
        request=form.request(),
        names=tuple(asked["numbers"]) if form.is_list else (),
        practice=tuple(asked["practice_numbers"]) if form.is_list else (),
        accepted_because=asked["accepted_because"],
    )


def _preview(request: AuthenticatedRequest, study: ReaderStudy, form: CasesForm, wanted: CaseRequest) -> dict[str, Any]:
    from readerstudy.design.kernels.forecast import forecast  # loads numpy: not at every start

    try:
        choice = preview_cases(study, wanted)
    except StudyRefused as refusal:
        if str(refusal) not in form.non_field_errors():
            form.add_error(None, str(refusal))
        return {}
    looked_at = _looked_at(request, study, choice)
    return {
        "choice": choice,
        "looked_at": looked_at,
        "shows_own_ids": is_coordinator(request.user),
        "n_looked_at": LOOKED_AT,
        "effect": effect_by_task(choice.cells),
        "forecast": forecast(
            choice.cells_of_set(0), sets=choice.sets, n_readers=study.n_readers, plan=read_analysis(study.analysis)
        ),
        "set_sizes": [len(one) for one in choice.sets],
    }


def _looked_at(
    request: AuthenticatedRequest, study: ReaderStudy, choice: CasePreview
) -> list[tuple[Block, int, Revision, Hint | None, str]]:
    """The first cases of the main block and the whole practice block, with the numbers that they get."""
    blocks = ((Block.MAIN, choice.main[:LOOKED_AT]), (Block.PRACTICE, choice.practice))
    places = [(block, number, one.revision_id) for block, cases in blocks for number, one in enumerate(cases, 1)]
    found = Revision.objects.select_related("question").in_bulk([pk for _block, _number, pk in places])
    hints = hints_in(study, found.values())
    own_ids = _own_ids(request, study, found.values())
    return [(block, number, found[pk], hints.get(pk), own_ids.get(pk, "")) for block, number, pk in places]


def _own_ids(request: AuthenticatedRequest, study: ReaderStudy, revisions: Iterable[Revision]) -> dict[int, str]:
    """The ids of the imported file, by id of the revision: for coordinators of the site alone."""
    if not is_coordinator(request.user):
        return {}
    question_of = {revision.pk: revision.question_id for revision in revisions}
    keys = keys_of_questions(study.bank_id, set(question_of.values()))
    return {pk: keys.get(question, "") for pk, question in question_of.items()}


def _page(request: AuthenticatedRequest, study: ReaderStudy, context: dict[str, Any], status: int) -> HttpResponse:
    """The whole page, or for HTMX the preview alone."""
    is_fragment = asks_for_part(request)
    context |= step_context(request, study, "study-cases", is_fragment=is_fragment)
    if is_fragment:
        return render(request, "readerstudy/design/_cases_preview.html", context)  # HTMX shows nothing of a 422
    context |= _stored(request, study)
    if study.state == StudyState.DRAFT:
        context |= _pool(study, context["form"])
    return render(request, "readerstudy/design/cases.html", context, status=status)


def _stored(request: AuthenticatedRequest, study: ReaderStudy) -> dict[str, Any]:
    """The cases that the study has, page by page."""
    rows = study.cases.select_related("revision__question").prefetch_related("sets").order_by("block", "number")
    table = sorted_page(request.GET, rows, SORTED_BY, PER_PAGE)
    page = table["page"]
    hints = hints_in(study, [case.revision for case in page]) if may_coordinate_study(request.user, study) else {}
    cells = cells_of(study.draw)
    own_ids = _own_ids(request, study, (case.revision for case in page))
    return {
        **table,
        "rows": [(case, hints.get(case.revision_id), own_ids.get(case.revision_id, "")) for case in page],
        "shows_own_ids": is_coordinator(request.user),
        "n_main": study.cases.filter(block=Block.MAIN).count(),
        "sets": list(study.sets.all()),
        "is_drawn": bool(study.draw),
        "stored_effect": effect_by_task(cells) if cells else None,
    }


def _pool(study: ReaderStudy, form: CasesForm) -> dict[str, Any]:
    """What the bank holds, cell by cell, with the field of each quota beside it."""
    from readerstudy.design.kernels.forecast import RANDOM_CASES, rare_in_random

    cells = pool_cells(study.bank)
    rows = []
    for task in TASKS:
        columns = []
        for difficulty in DIFFICULTIES:
            covered = [cell for key, cell in cells.items() if _covers(task, key[0]) and _covers(difficulty, key[1])]
            columns.append({"pool": _together(covered), "field": form.quota_field(task, difficulty)})
        rows.append({"task": task, "columns": columns})
    n_by_task: dict[str, int] = {}
    for cell in cells.values():
        n_by_task[cell.task] = n_by_task.get(cell.task, 0) + cell.n
    rare = rare_in_random(n_by_task)
    return {
        "pool_rows": rows,
        "difficulties": DIFFICULTIES,
        "pool": _together(list(cells.values())),
        "rare": rare,
        "is_rare": any(expected < FEW for _task, expected in rare),
        "n_random": RANDOM_CASES,
        "n_lost": n_with_lost_images(study.bank),
    }


def _covers(wanted: str, value: str) -> bool:
    return wanted in ("any", value)


def _together(cells: list[PoolCell]) -> PoolCell:
    return PoolCell("", "", sum(cell.n_accepted for cell in cells), sum(cell.n_other for cell in cells))
