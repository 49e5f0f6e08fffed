"""The bar above the pages of a design, and its short steps: arms, rules, readers. A frozen design only shows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from django.contrib import messages
from django.db.models import Count, Q
from django.http import Http404, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from msgspec import Struct

from annotation.views.site.decorators import AuthenticatedRequest, by
from readerstudy.design.drafting import describe_study, update_arm, update_readers
from readerstudy.design.kernels.ordering import orders_needed
from readerstudy.enums import Block, StudyState
from readerstudy.forms.drafts import ArmForm, DraftForm, ReadersForm
from readerstudy.forms.rules import RulesForm
from readerstudy.models import ReaderStudy
from readerstudy.study.overview import has_texts
from readerstudy.study.permissions import StudyRefused, locked_study, may_coordinate_study
from readerstudy.views.access import coordinated_study, overseen_study, person_page

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
