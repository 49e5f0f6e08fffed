"""What a coordinator does next with a round, with a bank and with its images.

Home and the page of the thing say the same sentence. It says what is done now where that is up to a coordinator,
and otherwise whom everything waits for; None where nothing is left.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django.db.models import Count, Exists, Max, OuterRef, Q
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from msgspec import Struct
from msgspec.structs import replace

from annotation.contributions import contributed
from annotation.enums import AssignmentState, ImageState, QuestionState, Role, RoundState
from annotation.ingest.completeness import ImageCounts, images_of_bank
from annotation.models import (
    Assignment,
    CalibrationResult,
    Image,
    Membership,
    Question,
    QuestionBank,
    ReviewRound,
    SampledQuestion,
    SamplingPlan,
    Settlement,
    User,
)
from annotation.models.fields import AsRead, sorted_as
from annotation.people.open_work import SHOWN, NextStep, WorkItem, WorkSection, first_due
from annotation.review.kernels.transitions import UNFINISHED
from annotation.review.onlookers import may_see_outcomes
from annotation.review.rounds import MissingImages, missing_images
from annotation.site.permissions import is_coordinator, may_see_quarantine


# --- rounds ---------------------------------------------------------------------------------------
class RoundCounts(Struct, frozen=True, kw_only=True):
    """What decides about the next step of a round. ``n_disputed``: None to who must not know."""

    n_to_do: int = 0
    n_submitted: int = 0
    n_returned: int = 0
    uncalibrated: tuple[str, ...] = ()
    n_disputed: int | None = None
    n_adjudicators: int = 0
    reviewers: Sequence[Mapping[str, Any]] = ()  # how far each is, by name; those who left are not among them
    missing: str = ""  # which questions of a draft lack images, in a sentence
    unseen: ImageCounts | None = None  # of a draft of which no question can be seen


def counts_of_rounds(
    rounds: Sequence[ReviewRound], *, known: set[int], missing_of_one: MissingImages | None = None
) -> dict[int, RoundCounts]:
    """By the id of the round; what reviewers answered only of the ``known`` ones.

    One query, one for each of calibrations, disputes and adjudicators where a round is so far, and some for each draft
    with reviewers.
    """
    if not rounds:
        return {}
    there = Assignment.objects.filter(round__in=rounds).exclude(state=AssignmentState.WITHDRAWN).order_by()
    rows = there.values("round", "reviewer__name").annotate(
        n_to_do=Count("pk", filter=Q(state__in=UNFINISHED)),
        n_submitted=Count("pk", filter=Q(state=AssignmentState.SUBMITTED)),
        n_returned=Count("pk", filter=Q(state=AssignmentState.RETURNED)),
        opened=Max("opened_at"),
        answered=Max("blind_answer__answered_at"),
    )
    reviewers: dict[int, list[Mapping[str, Any]]] = defaultdict(list)
    by_name = sorted(rows, key=lambda row: sorted_as(row["reviewer__name"]) or "")  # few, in SQL each assignment
    for row in by_name:
        reviewers[row["round"]].append(row)
    begun = [one for one in rounds if one.state == RoundState.OPEN and one.pk in known]
    failed = CalibrationResult.objects.filter(
        round__in=begun, passed=False, finished_at__isnull=False, let_in_at__isnull=True
    )
    names = list(failed.order_by(AsRead("reviewer__name")).values_list("round", "reviewer__name"))
    ended = [one for one in rounds if one.state in (RoundState.COMPLETE, RoundState.ADJUDICATION)]
    seen = [one for one in ended if one.pk in known]
    disputed = Settlement.objects.filter(round__in=seen, outcome=QuestionState.DISPUTED).order_by()
    n_disputed = dict(disputed.values_list("round").annotate(n=Count("pk")))
    adjudicators = Membership.objects.filter(round__in=ended, role=Role.ADJUDICATOR, user__is_active=True).order_by()
    n_adjudicators = dict(adjudicators.values_list("round").annotate(n=Count("pk")))
    found = {}
    for one in rounds:
        people = reviewers[one.pk]
        is_assigned_draft = one.state == RoundState.DRAFT and bool(people)
        missing, unseen = _images_of_draft(one, missing_of_one) if is_assigned_draft else ("", None)
        found[one.pk] = RoundCounts(
            **{name: sum(row[name] for row in people) for name in ("n_to_do", "n_submitted", "n_returned")},
            reviewers=people,
            uncalibrated=tuple(name for pk, name in names if pk == one.pk),
            n_disputed=n_disputed.get(one.pk, 0) if one.pk in known else None,
            n_adjudicators=n_adjudicators.get(one.pk, 0),
            missing=missing,
            unseen=unseen,
        )
    return found


def _images_of_draft(review_round: ReviewRound, known: MissingImages | None) -> tuple[str, ImageCounts | None]:
    missing = known or missing_images(review_round)
    if not missing.numbers or not missing.is_all:
        return missing.sentence, None
    exams = SampledQuestion.objects.filter(plan=review_round.plan_id).values("revision__question__exam")
    return missing.sentence, ImageCounts.of(Image.objects.filter(exam__in=exams))


def next_of_round(one: ReviewRound, counts: RoundCounts) -> NextStep | None:
    """None once it is closed or archived, and where the person must not know."""
    page = reverse("round", args=[one.slug])

    def act(label: str, sentence: str, url_name: str) -> NextStep:
        return NextStep(label, sentence, reverse(url_name, args=[one.slug]), about=one.name, is_act=True)

    def look(label: str, sentence: str, url: str, *, is_due: bool = True) -> NextStep:
        return NextStep(label, sentence, url, about=one.name, is_due=is_due)

    close = act(_("Close the round"), _("Everything is settled: close the round"), "round-close")
    n_reviews, n_disputed = counts.n_to_do + counts.n_submitted, counts.n_disputed
    if one.archived_at is not None or one.state == RoundState.CLOSED:
        return None
    if one.state in (RoundState.DRAFT, RoundState.OPEN) and not n_reviews + counts.n_returned:
        return look(
            _("Choose reviewers"), _("Nobody reviews its questions yet: choose reviewers"), page + "#assign-title"
        )
    if one.state == RoundState.DRAFT:
        if counts.unseen is not None and (step := next_of_images(counts.unseen)):
            return replace(step, about=one.name)
        if counts.missing:
            return look(_("Upload images"), counts.missing, page + "#missing-title")
        return act(_("Open the round"), _("Everything is ready: open the round"), "round-open")
    if one.state == RoundState.OPEN:
        if counts.n_returned:
            sentence = ngettext(
                "%(n)s question was handed back", "%(n)s questions were handed back", counts.n_returned
            ) % {"n": counts.n_returned}
            return look(_("Reassign"), sentence, page + "#progress-title")
        if not counts.n_to_do:
            sentence = _("All reviews are in: end the independent reviews")
            return act(_("End the independent reviews"), sentence, "round-complete")
        if counts.uncalibrated:
            return look(_("Calibration"), not_calibrated(counts.uncalibrated), page + "#calibration-title")
        sentence = _("Under review: %(done)d of %(total)d reviews are in")
        numbers = {"done": counts.n_submitted, "total": n_reviews}
        return look(_("Progress"), sentence % numbers, page + "#progress-title", is_due=False)
    if n_disputed is None:
        return None
    if not n_disputed:
        return close
    if one.state == RoundState.ADJUDICATION:
        sentence = ngettext(
            "%(n)s question waits for an adjudicator", "%(n)s questions wait for an adjudicator", n_disputed
        ) % {"n": n_disputed}
        return look(_("Disputed questions"), sentence, page + "#settling-title", is_due=False)
    if not counts.n_adjudicators:
        sentence = ngettext(
            "%(n)s question is disputed: name an adjudicator",
            "%(n)s questions are disputed: name an adjudicator",
            n_disputed,
        ) % {"n": n_disputed}
        return look(_("Name an adjudicator"), sentence, page + "#settling-title")
    return act(_("Begin adjudication"), _("Adjudication can begin"), "round-adjudicate")


def next_on_page(review_round: ReviewRound, person: User, missing: MissingImages | None = None) -> NextStep | None:
    """To a coordinator of the round; of a closed one what is left in its bank. ``missing``: where the page knows it."""
    if review_round.state == RoundState.CLOSED:
        return next_in_bank(review_round.plan.bank, person)
    known = {review_round.pk} if may_see_outcomes(person, review_round) else set()
    counts = counts_of_rounds([review_round], known=known, missing_of_one=missing)
    return next_of_round(review_round, counts[review_round.pk])


def not_calibrated(names: Sequence[str]) -> str:
    return _("Calibration not passed: %(names)s") % {"names": ", ".join(names)}


# --- images ---------------------------------------------------------------------------------------
def next_of_images(counts: ImageCounts, *, decides: bool = False, bank: str = "") -> NextStep | None:
    """``decides``: this person has the de-identification role. ``bank``: the slug of the one that they belong to."""
    upload = reverse("upload-new") + (f"?bank={bank}" if bank else "")

    def listed(state: ImageState) -> str:
        return f"{reverse('images')}?{f'bank={bank}&' if bank else ''}state={state}"

    if counts.upload:
        sentence = _("%(n)d of %(all)d images are still to come: an upload is being read.")
        sentence %= {"n": counts.n_pending, "all": counts.n_all}
        return NextStep(_("See the upload"), sentence, reverse("upload", args=[counts.upload]), is_due=False)
    if (n := counts.n_pending) and n == counts.n_all:
        sentence = ngettext(
            "The %(n)d image that the questions name is missing.",
            "All %(n)d images that the questions name are missing.",
            n,
        )
        return NextStep(_("Upload images"), sentence % {"n": n}, upload)
    if n := counts.n_quarantined:
        sentence = ngettext("%(n)d image is in quarantine.", "%(n)d images are in quarantine.", n) % {"n": n}
        if decides:
            return NextStep(_("Look at them"), sentence, reverse("quarantine"))
        sentence = f"{sentence} {_('Somebody with the de-identification role decides.')}"
        step = NextStep(_("See the images"), sentence, listed(ImageState.QUARANTINED), is_due=False)
    elif n := counts.n_checking:
        sentence = ngettext(
            "%(n)d image is being searched for text.", "%(n)d images are being searched for text.", n
        ) % {"n": n}
        step = NextStep(_("See the images"), sentence, listed(ImageState.CHECKING), is_due=False)
    elif n := counts.n_pending:
        sentence = _("%(n)d of %(all)d images are still missing.") % {"n": n, "all": counts.n_all}
        step = NextStep(_("Upload images"), sentence, upload, is_due=False)
    else:
        return None
    if counts.n_available:
        return step
    return replace(step, sentence=f"{_('No image can be seen yet.')} {step.sentence}")


# --- banks ----------------------------------------------------------------------------------------
class BankCounts(Struct, frozen=True, kw_only=True):
    """What decides about the next step of a bank."""

    has_questions: bool = True
    n_needs_revision: int = 0
    n_disputed: int = 0  # in no round that is still being settled
    n_revised: int = 0
    is_used: bool = False  # a round or a reader study has questions of it
    unused_sample: str = ""  # the newest that no round has
    images: ImageCounts | None = None  # of a bank that is not used yet


def counts_of_banks(banks: Sequence[QuestionBank]) -> dict[int, BankCounts]:
    """By the id of the bank. Three queries, and some for each that is not used yet."""
    in_settling = Settlement.objects.filter(
        revision__question=OuterRef("pk"), round__state__in=(RoundState.COMPLETE, RoundState.ADJUDICATION)
    )
    states = (QuestionState.NEEDS_REVISION, QuestionState.DISPUTED, QuestionState.REVISED)
    rows = Question.objects.filter(~Q(state=QuestionState.IMPORTED), bank__in=banks, state__in=states).order_by()
    rows = rows.exclude(Exists(in_settling), state=QuestionState.DISPUTED)
    found = {(pk, state): n for pk, state, n in rows.values_list("bank", "state").annotate(n=Count("pk"))}
    samples: dict[int, list[tuple[str, int]]] = {}
    plans = SamplingPlan.objects.filter(bank__in=banks, archived_at=None)
    plans = plans.annotate(n=Count("rounds", filter=Q(rounds__deleted_at=None)))
    for pk, slug, n in plans.order_by("-created_at").values_list("bank", "slug", "n"):
        samples.setdefault(pk, []).append((slug, n))
    return {one.pk: _counts_of_bank(one, found, samples.get(one.pk, [])) for one in banks}


def _counts_of_bank(
    one: QuestionBank, found: Mapping[tuple[int, str], int], samples: Sequence[tuple[str, int]]
) -> BankCounts:
    is_used = any(n for _slug, n in samples) or any(use(one) for use in contributed().bank_uses)
    return BankCounts(
        has_questions=is_used or Question.objects.filter(bank=one).exists(),
        n_needs_revision=found.get((one.pk, QuestionState.NEEDS_REVISION), 0),
        n_disputed=found.get((one.pk, QuestionState.DISPUTED), 0),
        n_revised=found.get((one.pk, QuestionState.REVISED), 0),
        is_used=is_used,
        unused_sample=next((slug for slug, n in samples if not n), ""),
        images=None if is_used else images_of_bank(one),
    )


def next_of_bank(bank: QuestionBank | None, counts: BankCounts, *, decides: bool = False) -> NextStep | None:
    """``bank``: None where the site has none."""
    if bank is None:
        sentence = _("There is no question yet. Import a question bank first.")
        return NextStep(_("Import questions"), sentence, reverse("question-import-new"))
    name, page = bank.name, reverse("bank", args=[bank.slug])
    draw = reverse("sample-new") + f"?bank={bank.slug}"
    if bank.archived_at is not None:
        return None
    if not counts.has_questions:
        url = reverse("question-import-new") + "?" + urlencode({"bank": name})
        return NextStep(_("Import questions"), _("The bank has no question yet."), url, about=name)
    if n := counts.n_needs_revision:
        sentence = ngettext("%(n)d question needs revision.", "%(n)d questions need revision.", n) % {"n": n}
        return NextStep(_("Revise"), sentence, f"{page}?state={QuestionState.NEEDS_REVISION}#questions", about=name)
    if n := counts.n_disputed:
        sentence = ngettext(
            "%(n)d question stayed disputed: revise or withdraw it, or review it again.",
            "%(n)d questions stayed disputed: revise or withdraw them, or review them again.",
            n,
        ) % {"n": n}
        return NextStep(
            _("Disputed questions"), sentence, f"{page}?state={QuestionState.DISPUTED}#questions", about=name
        )
    if n := counts.n_revised:
        sentence = ngettext(
            "%(n)d question was revised and not reviewed since: review it again, or export the bank.",
            "%(n)d questions were revised and not reviewed since: review them again, or export the bank.",
            n,
        ) % {"n": n}
        url = f"{page}?state={QuestionState.REVISED}#questions"
        return NextStep(_("Revised questions"), sentence, url, about=name, is_due=False)
    if counts.is_used:
        return None
    images = next_of_images(counts.images, decides=decides, bank=bank.slug) if counts.images is not None else None
    if images is not None and not (counts.images and counts.images.n_available):
        return replace(images, about=name)
    if counts.unused_sample:
        url = reverse("round-new") + f"?sample={counts.unused_sample}"
        return NextStep(_("New review round"), _("The sample is drawn: make a review round of it."), url, about=name)
    sentence = _("Questions imported. Next: draw a sample of them for a review round.")
    if images is not None:
        sentence = f"{sentence} {images.sentence}"
    return NextStep(_("Draw a sample"), sentence, draw, about=name, is_due=False)


def next_in_bank(bank: QuestionBank, person: User) -> NextStep | None:
    """To a coordinator of the site; others change nothing in a bank."""
    if not is_coordinator(person):
        return None
    return next_of_bank(bank, counts_of_banks([bank])[bank.pk], decides=may_see_quarantine(person))


def banks_looked_after(person: User, at: datetime) -> WorkSection | None:
    """The section of the home page of a coordinator of the site: the newest banks, each with its next step."""
    if not is_coordinator(person):
        return None
    banks = list(QuestionBank.objects.filter(archived_at__isnull=True).order_by("-created_at")[:SHOWN])
    counts = counts_of_banks(banks)
    steps = [next_of_bank(one, counts[one.pk]) for one in banks] or [next_of_bank(None, BankCounts())]
    items = [
        WorkItem(
            one.name,
            reverse("bank", args=[one.slug]),
            words=step.sentence if step else _("no open task"),
            state=_("simulated") if one.simulated else "",
        )
        for one, step in zip(banks, steps, strict=False)
    ]
    empty = _("None yet. Import a question file to begin.")
    return WorkSection(_("Question banks"), items, first_due(steps), empty=empty, url=reverse("banks"))
