"""Images on pages: uploaded, listed, and their bytes."""

from __future__ import annotations

from collections.abc import Mapping

from django.conf import settings
from django.http import FileResponse, Http404, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from django.views.decorators.vary import vary_on_headers

from annotation.acts.files import KEEP, accepts_zstd, bytes_response, texts_response
from annotation.enums import ImageState, JobState, Role, ViewPosition
from annotation.forms.images import CreditForm, FetchForm, ImageFilterForm, ReasonForm, UploadForm, ViewForm
from annotation.ingest import serving, uploading
from annotation.ingest.completeness import images_of_bank, images_of_site
from annotation.ingest.describing import images_of_banks, say_views, stated_views
from annotation.ingest.matching import missing_images
from annotation.ingest.serving import image_descriptors
from annotation.ingest.uploading import images_of_upload
from annotation.jobs.queueing import may_manage
from annotation.models import AuditEvent, QuestionBank, Upload
from annotation.models.fields import AsRead
from annotation.outcomes.next_steps import next_of_images
from annotation.questionbank.source_names import near_names
from annotation.site.permissions import is_administrator, is_coordinator, may_see_quarantine
from annotation.site.sorted_tables import BoundedPaginator, Columns, numbered_page, sorted_page
from annotation.views.ingest.quarantine import previews
from annotation.views.site.administration import delete_or_ask
from annotation.views.site.confirming import refusals_on, said
from annotation.views.site.decorators import AuthenticatedRequest, asks_for_part, by, person_required, role_required

UPLOADS_PER_PAGE = 50
SORTED_BY: Columns = {
    "when": "created_at",
    "who": AsRead("created_by__name"),
    "bank": AsRead("bank__name"),
    "files": "n_files",
    "size": "n_bytes",
}
REPORT_COLUMNS = ("file", "code", "message")


@role_required(Role.COORDINATOR, Role.ADMINISTRATOR)
@require_safe
def uploads(request: AuthenticatedRequest) -> HttpResponse:
    found = uploading.uploads_of_images()
    if not request.GET.get("archived"):
        found = found.filter(archived_at=None)
    context = sorted_page(request.GET, found, SORTED_BY, UPLOADS_PER_PAGE)
    return render(request, "annotation/images/uploads.html", context)


@role_required(Role.COORDINATOR)
@require_http_methods(["GET", "HEAD", "POST"])
@vary_on_headers("Accept")
def upload_new(request: AuthenticatedRequest) -> HttpResponse:
    """Take files in; a script that sends them gets the address of the upload as JSON, a plain form is redirected."""
    if request.method != "POST":
        return _form_page(request, UploadForm(initial={"bank": request.GET.get("bank") or _only_bank()}))
    form = UploadForm(request.POST, request.FILES)
    if form.is_valid():
        bank, file = form.cleaned_data["bank"], form.cleaned_data["credits"]
        table = file.read() if file else None
        with refusals_on(form):
            upload = uploading.keep_upload(form.sent_files(), credits_table=table, bank=bank, **by(request))
            address = reverse("upload", args=[upload.public_id])
            return JsonResponse({"url": address}, status=201) if _wants_json(request) else redirect(address)
    return _refusal(request, form)


def _only_bank() -> str | None:
    """The bank in use, where there is one alone."""
    slugs = list(QuestionBank.objects.filter(archived_at=None).values_list("slug", flat=True)[:2])
    return slugs[0] if len(slugs) == 1 else None


@role_required(Role.COORDINATOR, Role.ADMINISTRATOR)
@require_http_methods(["GET", "HEAD", "POST"])
def fetch_new(request: AuthenticatedRequest) -> HttpResponse:
    """Ask a PACS of the settings for images."""
    from annotation.ingest.fetching import keep_fetch, query_of  # loads requests: not at every start

    names = [(one.name, one.name) for one in settings.DICOMWEB]
    form = FetchForm(request.POST or None, initial={"bank": request.GET.get("bank") or _only_bank()})
    form.offer("pacs", names)
    if request.method == "POST" and form.is_valid():
        asked = {**form.cleaned_data, "today": timezone.localdate()}
        pacs, bank = asked.pop("pacs"), asked.pop("bank")
        with refusals_on(form):
            upload = keep_fetch(pacs, query_of(**asked), bank=bank, **by(request))
            return redirect("upload", upload.public_id)
    context = {"form": form, "names": names}
    return render(request, "annotation/images/fetch_new.html", context, status=422 if form.errors else 200)


@role_required(Role.COORDINATOR, Role.ADMINISTRATOR)
@require_safe
@vary_on_headers("HX-Request")
def upload(request: AuthenticatedRequest, public_id: str) -> HttpResponse:
    """How far an upload is, and what became of its files."""
    shown = _upload(public_id)
    job = shown.job
    result = (job.result if job else None) or {}
    context = {
        "upload": shown,
        "job": job,
        "result": result,
        "refused": _refused(result),
        "silence": settings.DICOM_SILENCE_SECONDS,
        "may_delete": is_administrator(request.user),
        "may_manage": is_coordinator(request.user),
        "may_manage_job": job is not None and may_manage(request.user, job),
        "may_decide": may_see_quarantine(request.user),
    }
    if shown.asked.get("pacs") and job and job.state == JobState.SUCCEEDED:
        context["is_nothing_there"] = not (result.get("files") or result.get("known"))
        context["without_exam"] = uploading.without_exam(shown) if result.get("without_exam") else []
    if job and job.state == JobState.SUCCEEDED and shown.bank and is_coordinator(request.user):
        context["n_missing"] = missing_images(shown.bank).count()
        context["near"] = near_names(shown.bank, result.get("unmet_ids", []))
    template = "_upload.html" if asks_for_part(request) else "upload.html"
    return render(request, f"annotation/images/{template}", context)


@role_required(Role.COORDINATOR, Role.ADMINISTRATOR)
@require_safe
def upload_report(request: AuthenticatedRequest, public_id: str) -> FileResponse:
    """The refused files as CSV."""
    shown = _upload(public_id)
    if shown.job is None or shown.job.result is None:
        raise Http404
    uploading.note_report_taken(shown, **by(request))
    name = f"upload-{shown.created_at:%Y-%m-%d-%H%M}-refused"
    return texts_response(name, REPORT_COLUMNS, _refused(shown.job.result))


@role_required(Role.ADMINISTRATOR)
@require_POST
def upload_delete(request: AuthenticatedRequest, public_id: str) -> HttpResponse:
    return delete_or_ask(request, _upload(public_id), "uploads")


def _upload(public_id: str) -> Upload:
    return get_object_or_404(uploading.uploads_of_images(), public_id=public_id)


def _refused(result: Mapping[str, list[dict[str, str]]]) -> list[dict[str, str]]:
    return [*result.get("refused", []), *result.get("credits_refused", [])]


def _wants_json(request: AuthenticatedRequest) -> bool:
    return request.headers.get("Accept", "").startswith("application/json")


def _refusal(request: AuthenticatedRequest, form: UploadForm) -> HttpResponse:
    if _wants_json(request):
        return JsonResponse({"errors": [message for rows in form.errors.values() for message in rows]}, status=422)
    return _form_page(request, form)


def _form_page(request: AuthenticatedRequest, form: UploadForm) -> HttpResponse:
    context = {
        "form": form,
        "most_files": settings.UPLOAD_MAX_FILES,
        "most_bytes": settings.UPLOAD_MAX_BYTES,
        "most_image_bytes": settings.IMAGE_MAX_BYTES,
    }
    return render(request, "annotation/images/upload_new.html", context, status=422 if form.errors else 200)


IMAGES_PER_PAGE = 24
EVENTS_SHOWN = 20
KEEP_NOTHING = "no-store"


@role_required(Role.COORDINATOR)
@require_safe
@vary_on_headers("HX-Request")
def images(request: AuthenticatedRequest) -> HttpResponse:
    """Every image, by bank and state."""
    form = ImageFilterForm(request.GET)
    wanted = form.cleaned_data if form.is_valid() else {}
    found = images_of_banks().order_by("-exam_id", "position", "id")
    if bank := wanted.get("bank"):
        found = found.filter(exam__in=bank.exams.order_by().values("pk"))  # along the index of exams: sorted already
    if state := wanted.get("state"):
        found = found.filter(state=state)
    if upload := wanted.get("upload"):
        found = found.filter(pk__in=images_of_upload(upload))
    page = numbered_page(request.GET, found.prefetch_related(previews()), IMAGES_PER_PAGE, BoundedPaginator)
    template = "_image_list.html" if asks_for_part(request) else "list.html"
    context = {"form": form, "page": page, "is_filtered": any(wanted.values()), "only_bank": wanted.get("bank")}
    if not asks_for_part(request):
        counts = images_of_bank(bank) if bank else images_of_site()
        slug = bank.slug if bank else ""
        context["next"] = next_of_images(counts, decides=may_see_quarantine(request.user), bank=slug)
    return render(request, f"annotation/images/{template}", context)


@role_required(Role.COORDINATOR)
@require_safe
def image(request: AuthenticatedRequest, public_id: str) -> HttpResponse:
    """One image with what is known about it, in full depth when it may be seen."""
    shown = get_object_or_404(images_of_banks().prefetch_related("renditions"), public_id=public_id)
    events = AuditEvent.objects.filter(subject_type="image", subject_id=shown.public_id).select_related("actor")
    context = {
        "image": shown,
        "views": image_descriptors([shown]),
        "view_form": ViewForm(initial={"view_position": shown.view_position, "laterality": shown.laterality}),
        "credit_form": CreditForm(initial={"attribution": shown.attribution, "licence": shown.licence}),
        "reason_form": ReasonForm(),
        "can_be_quarantined": shown.state in (ImageState.AVAILABLE, ImageState.CHECKING),
        "siblings": shown.exam.images.exclude(pk=shown.pk),
        "n_questions": shown.exam.questions.count(),
        "events": events.order_by("-id")[:EVENTS_SHOWN],
    }
    return render(request, "annotation/images/image.html", context)


@role_required(Role.COORDINATOR)
@require_http_methods(["GET", "HEAD", "POST"])
def views_said(request: AuthenticatedRequest) -> HttpResponse:
    """What files say of views and nobody understands: a person says what it means, for all images at once."""
    stated = stated_views()
    if request.method == "POST":
        meanings = zip(*(request.POST.getlist(name) for name in ("words", "view", "means")), strict=False)
        chosen = [
            (one, ViewPosition(means))
            for words, view, means in meanings
            for one in stated
            if (one.words, one.view) == (words, view) and means in ViewPosition.values()
        ]
        n = say_views(chosen, **by(request))
        sentence = ngettext("The view of %(n)s image is changed.", "The views of %(n)s images are changed.", n)
        return said(request, sentence % {"n": n} if n else _("Nothing was changed."), "views-said")
    return render(request, "annotation/images/views.html", {"stated": stated, "views": list(ViewPosition)})


# The bytes of images that are shown. Nothing here says what an image is called at its source.


@person_required
@require_safe
def rendition(request: AuthenticatedRequest, name: str) -> HttpResponse:
    """An available image, to whoever may see it; for everybody else there is nothing here."""
    zstd, now = accepts_zstd(request), timezone.now()
    return bytes_response(serving.serve_rendition(name, person=request.user, accepts_zstd=zstd, at=now), KEEP)


@person_required
@require_safe
def thumbnail(request: AuthenticatedRequest, name: str) -> HttpResponse:
    """The same, small, for lists; by the name of its preview."""
    return bytes_response(serving.serve_thumbnail(name, person=request.user, at=timezone.now()), KEEP)


@role_required(Role.DEIDENTIFIER)
@require_safe
def quarantine_rendition(request: AuthenticatedRequest, name: str) -> HttpResponse:
    """An image in quarantine, to the people who decide about it; no browser keeps it."""
    served = serving.serve_quarantined(name, accepts_zstd=accepts_zstd(request), at=timezone.now())
    return bytes_response(served, KEEP_NOTHING)
