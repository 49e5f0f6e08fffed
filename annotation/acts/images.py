"""What a person does with an image, an upload of images, and the jobs that take long work over."""

from __future__ import annotations

from typing import Any

from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.acts import Act
from annotation.acts.banks import COORDINATORS
from annotation.contributions import read_in
from annotation.enums import ViewPosition
from annotation.forms.images import CreditForm, ReasonForm, ViewForm
from annotation.ingest.describing import correct_view, images_of_banks, set_credits
from annotation.ingest.quarantine import quarantine_image
from annotation.ingest.uploading import archive_upload, uploads_of_images
from annotation.jobs.queueing import cancel, check_may_manage, jobs_of, retry
from annotation.models import Image, Job, Upload, User
from annotation.site.permissions import within_reach


class ImageAct(Act[Image]):
    roles, rows, reach, then = COORDINATORS, images_of_banks, {"bank": "exam__bank"}, "image"
    found_by = ("public_id",)


class _StatesAct(ImageAct):
    """Whoever reads with the image still sees what was frozen."""

    def says(self, arguments: dict[str, Any], result: bool) -> str:
        if not result:
            return ""
        sentences = [str(self.done)]
        if names := read_in(self.thing.pk):
            frozen = _(
                "Readers of “%(names)s” go on seeing what was frozen; the change shows in studies frozen from now on."
            )
            sentences.append(frozen % {"names": "”, “".join(names)})
        return " ".join(sentences)


class CreditImage(_StatesAct):
    """Say whose the image is and under which licence it is shown."""

    name, route, summary = "image-credits", "credits/", "Set the credits of an image"
    do, form, done = set_credits, CreditForm, gettext_lazy("Attribution and licence are stored.")


class CorrectView(_StatesAct):
    """Correct the view position and the side."""

    name, route, summary = "image-view", "view/", "Correct the view of an image"
    do, form, done = correct_view, ViewForm, gettext_lazy("View position and side are corrected.")

    def arguments(self, data: dict[str, Any]) -> dict[str, Any]:
        return {"view": ViewPosition(data["view_position"]), "laterality": data["laterality"]}


class QuarantineImage(ImageAct):
    """Nobody sees it until somebody has looked and decided, which no program does. Twice changes nothing."""

    name, route, summary = "image-quarantine", "quarantine/", "Take an image out of sight"
    do, form = quarantine_image, ReasonForm
    done = gettext_lazy("The image is in quarantine: nobody sees it until it is decided upon.")


class ArchiveUpload(Act[Upload]):
    """Off the list, and what is kept of its files is deleted. Images that came in stay."""

    name, route, summary = "upload-archive", "archive/", "Archive an upload"
    roles, rows, reach, found_by = COORDINATORS, uploads_of_images, {"bank": "bank"}, ("public_id",)
    do, done = archive_upload, gettext_lazy("The upload is archived. Images that came in stay.")

    def page(self) -> str:
        return reverse("uploads")


class JobAct(Act[Job]):
    found_by, then = ("public_id",), "job"

    @classmethod
    def find(cls, person: User, **named: Any) -> Job:
        job = get_object_or_404(within_reach(person, jobs_of(person)), **named)
        check_may_manage(person, job)
        return job


class CancelJob(JobAct):
    """A waiting job ends at once, a running one at its next step; what it has stored so far stays."""

    name, route, summary = "job-cancel", "cancel/", "Cancel a job"
    do, done = cancel, gettext_lazy("The job ends at its next step; what it has stored so far stays.")


class RetryJob(JobAct):
    """A job that failed or was cancelled waits for a worker again."""

    name, route, summary = "job-retry", "retry/", "Try a job again"
    do, done = retry, gettext_lazy("The job waits for a worker again.")


IMAGE_ACTS: tuple[type[ImageAct], ...] = (CreditImage, CorrectView, QuarantineImage)
UPLOAD_ACTS = (ArchiveUpload,)
JOB_ACTS: tuple[type[JobAct], ...] = (CancelJob, RetryJob)
