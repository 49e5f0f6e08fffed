"""What people do with banks, samples, questions as a whole, images and their uploads, and jobs."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django import forms
from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.acts import Act, Confirmation
from annotation.audit.deleting import archive, bring_back
from annotation.contributions import read_in
from annotation.enums import ImageState, Role, ViewPosition
from annotation.exports.release_files import check_handed_out
from annotation.exports.releases import withdraw_release
from annotation.forms import PlainForm
from annotation.forms.images import CreditForm, ReasonForm, TurnForm, ViewForm
from annotation.ingest.describing import correct_view, images_of_banks, set_credits
from annotation.ingest.quarantine import mark_against, quarantine_image, show_turned
from annotation.ingest.uploading import archive_upload, uploads_of_images
from annotation.jobs.queueing import cancel, check_may_manage, jobs_of, retry
from annotation.models import Image, Job, Question, QuestionBank, Release, Revision, SamplingPlan, Upload, User
from annotation.questionbank.importing import ManyChanged, bring_back_question, withdraw_question
from annotation.review.selected_questions import NO_TAG, add_tag, remove_tag
from annotation.site.permissions import within_reach
from annotation.validators.validator_plans import check_reads_none

COORDINATORS: tuple[Role, ...] = (Role.COORDINATOR,)


class BankAct(Act[QuestionBank]):
    roles, rows, reach, then = COORDINATORS, QuestionBank.objects.all, {"bank": "pk"}, "bank"


class ArchiveBank(BankAct):
    """Off the lists; nothing is deleted."""

    name, route, summary = "bank-archive", "archive/", "Archive a bank"
    do, done = archive, gettext_lazy("The bank is archived.")


class BringBackBank(BankAct):
    """An archived bank is in use again."""

    name, route, summary = "bank-bring-back", "bring-back/", "Bring a bank back"
    do, done = bring_back, gettext_lazy("The bank is back in use.")


class SampleAct(Act[SamplingPlan]):
    roles, rows, reach, then = COORDINATORS, SamplingPlan.objects.all, {"bank": "bank"}, "sample"


class ArchiveSample(SampleAct):
    """Off the lists; nothing is deleted."""

    name, route, summary = "sample-archive", "archive/", "Archive a sample"
    do, done = archive, gettext_lazy("The sample is archived.")

    def page(self) -> str:
        return reverse("samples")


class BringBackSample(SampleAct):
    """An archived sample is in use again."""

    name, route, summary = "sample-bring-back", "bring-back/", "Bring a sample back"
    do, done = bring_back, gettext_lazy("The sample is back.")


# --- questions ------------------------------------------------------------------------------------
class QuestionAct(Act[Question]):
    roles, found_by = COORDINATORS, ("slug", "number")

    @classmethod
    def find(cls, person: User, **named: Any) -> Question:
        current = within_reach(person, Revision.objects.current().select_related("question__bank"), bank="bank")
        place = {"question__bank__slug": named["slug"], "question__number": named["number"]}
        return get_object_or_404(current, **place).question

    def page(self) -> str:
        return reverse("question", args=[self.thing.bank.slug, self.thing.number])


class WithdrawalForm(PlainForm):
    reason = forms.CharField(required=False)  # what a reason must be, the act says


class WithdrawQuestion(QuestionAct):
    """No sample draws it any more."""

    name, route, summary = "question-withdraw", "withdraw/", "Withdraw a question"
    do, form, done = withdraw_question, WithdrawalForm, gettext_lazy("The question is withdrawn.")


class BringBackQuestion(QuestionAct):
    """A withdrawn question can be drawn again."""

    name, route, summary = "question-bring-back", "bring-back/", "Bring a question back"
    do, done = bring_back_question, gettext_lazy("The question is back.")


class WithdrawRelease(Act[Release]):
    """Nobody gets its files any more. Its name stays taken, its patients keep their splits, and it is not undone."""

    name, route, summary = "release-withdraw", "withdraw/", "Withdraw a release"
    roles, found_by, then = COORDINATORS, ("slug", "public_id"), "bank-releases"
    do, form, done = withdraw_release, WithdrawalForm, gettext_lazy("The release is withdrawn.")

    @classmethod
    def find(cls, person: User, **named: Any) -> Release:
        rows = within_reach(person, Release.objects.select_related("bank", "gate"), bank="bank")
        found = get_object_or_404(rows, bank__slug=named["slug"], public_id=named["public_id"])
        check_reads_none(person, found.bank)
        return found

    def confirmation(self, arguments: dict[str, Any], at: datetime) -> Confirmation:
        check_handed_out(self.thing)
        return Confirmation(
            title=_("Withdraw this release for good?"),
            about=self.thing.name,
            sentences=[
                _("Nobody gets its files any more, and its name stays taken. What was taken before stays where it is."),
                _("It stays listed, struck out, with the day and your reason: %(reason)s") % arguments,
            ],
            label=_("Withdraw it"),
            back=self.page(),
            sent=arguments,
        )

    def page(self) -> str:
        return reverse(self.then, args=[self.thing.bank.slug])


class TagForm(PlainForm):
    tag = forms.CharField(max_length=200, help_text="at most 40 characters")


class _TagAct(QuestionAct):
    form, misread = TagForm, NO_TAG

    def run(self, arguments: dict[str, Any], at: datetime) -> ManyChanged:
        one = Question.objects.filter(pk=self.thing.pk)
        changed: ManyChanged = type(self).do(one, **arguments, bank=self.thing.bank, actor=self.person, at=at)
        return changed


class TagQuestion(_TagAct):
    """Put a tag on a question. One that is there stays as it is."""

    name, route, api_route, summary = "question-tag", "tags/add/", "tag/", "Tag a question"
    do = add_tag

    def says(self, arguments: dict[str, Any], result: ManyChanged) -> str:
        return _("The tag is added.") if result.n else _("The question has this tag already.")


class UntagQuestion(_TagAct):
    """Take a tag from a question."""

    name, route, api_route, summary = "question-untag", "tags/remove/", "untag/", "Take a tag from a question"
    do = remove_tag

    def says(self, arguments: dict[str, Any], result: ManyChanged) -> str:
        return _("The tag is removed.") if result.n else _("The question does not have this tag.")


BANK_ACTS: tuple[type[BankAct], ...] = (ArchiveBank, BringBackBank)
SAMPLE_ACTS: tuple[type[SampleAct], ...] = (ArchiveSample, BringBackSample)
QUESTION_ACTS: tuple[type[QuestionAct], ...] = (WithdrawQuestion, BringBackQuestion, TagQuestion, UntagQuestion)


def turnable_images() -> QuerySet[Image]:
    return images_of_banks().filter(state=ImageState.AVAILABLE, turn__gt="")


def against_the_mark(sent: Mapping[str, str], back: str) -> Confirmation:
    """Asked where a person chooses the picture that the side marks speak against."""
    return Confirmation(
        title=_("Show it against its side mark?"),
        sentences=[
            _("The side mark that was found in it speaks for the other picture: left would be on the wrong side."),
            _("Look at the heart, the stomach bubble and the mark once more. Your choice and your name are noted."),
        ],
        label=_("Show it so all the same"),
        back=back,
        about=_("How the image lies"),
        sent=sent,
    )


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


class TurnImage(ImageAct):
    """A film that by its file lies otherwise than usual is shown turned, or as it came in, from now on."""

    name, route, summary = "image-turn", "turn/", "Choose how an image lies"
    rows = turnable_images
    do, form = show_turned, TurnForm
    done = gettext_lazy("The image is shown so from now on; what people are reading keeps its frame.")

    def arguments(self, data: dict[str, Any]) -> dict[str, Any]:
        return {"turned": data["shown"] == "turned", "reason": data["reason"]}

    def says(self, arguments: dict[str, Any], result: bool) -> str:
        return str(self.done) if result else _("It is shown so already; nothing was changed.")

    def confirmation(self, arguments: dict[str, Any], at: datetime) -> Confirmation | None:
        if not mark_against(self.thing, arguments["turned"]):
            return None
        sent = {"shown": "turned" if arguments["turned"] else "as_it_came", "reason": arguments["reason"]}
        return against_the_mark(sent, back=self.page())


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


IMAGE_ACTS: tuple[type[ImageAct], ...] = (CreditImage, CorrectView, QuarantineImage, TurnImage)
UPLOAD_ACTS = (ArchiveUpload,)
RELEASE_ACTS = (WithdrawRelease,)
JOB_ACTS: tuple[type[JobAct], ...] = (CancelJob, RetryJob)
