"""What reader studies and models tell in the history of a question: what froze it, and how models answered it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from django.db.models import Q
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.discussion.history import Event
from annotation.enums import HistoryKind
from annotation.models import AnswerKey, Question, User
from readerstudy.enums import Block, EntryState
from readerstudy.models import Prediction, ReaderStudy, StudyCase
from readerstudy.study.overview import studies_known_to
from readerstudy.unblinding.looks import may_see_results


def events_of_studies(question: Question, person: User) -> Iterator[Event]:
    """Studies that froze the question, and once their results were seen how many models answered it correctly there.

    Nothing of a study in which this person reads.
    """
    cases = StudyCase.objects.filter(revision__question=question, study__frozen_at__isnull=False)
    cases = cases.filter(study__in=studies_known_to(person)).select_related("study", "revision", "voiding")
    shown, is_secret = [], False
    for case in cases:
        study = case.study
        sentence = _("Revision %(n)s was frozen in the reader study “%(name)s”.")
        if case.block == Block.PRACTICE:
            sentence = _("Revision %(n)s was frozen in the reader study “%(name)s”, for practice.")
        assert study.frozen_at is not None
        yield Event(
            at=study.frozen_at,
            kind=HistoryKind.STUDY,
            sentence=sentence % {"n": case.revision.number, "name": study.name},
            url=reverse("study", args=[study.slug]),
        )
        if case.block == Block.MAIN and not hasattr(case, "voiding"):
            is_seen = study.unblinded_at is not None and may_see_results(study)
            is_secret = is_secret or not is_seen
            if is_seen:
                shown.append(study)
    yield from _models(question, shown, with_bank=not is_secret)


def _models(question: Question, studies: list[ReaderStudy], *, with_bank: bool) -> Iterator[Event]:
    """By the run of each listed model that is named; an answer that could not be extracted is no correct one."""
    on = Q(run__study__in=studies) | Q(run__study=None) if with_bank else Q(run__study__in=studies)
    rows = Prediction.objects.filter(
        on, revision__question=question, run__is_named=True, run__withdrawn_at=None, run__entry__state=EntryState.LISTED
    )
    answers: dict[tuple[ReaderStudy | None, int], list[Prediction]] = defaultdict(list)
    for row in rows.select_related("run__study", "revision").order_by("pk"):
        answers[row.run.study, row.revision_id].append(row)
    keys = dict(AnswerKey.objects.filter(revision__question=question).values_list("revision_id", "key"))
    for (study, revision), given in answers.items():
        n_right = sum(one.option == keys[revision] for one in given)
        times = [one.run.imported_at for one in given] + ([study.unblinded_at] if study and study.unblinded_at else [])
        facts = {"k": n_right, "of": len(given), "n": given[0].revision.number, "name": study.name if study else ""}
        sentence = (
            ngettext(
                "In the reader study “%(name)s” %(k)s of %(of)s model answered revision %(n)s correctly.",
                "In the reader study “%(name)s” %(k)s of %(of)s models answered revision %(n)s correctly.",
                len(given),
            )
            if study
            else ngettext(
                "%(k)s of %(of)s model answered revision %(n)s correctly, outside of any reader study.",
                "%(k)s of %(of)s models answered revision %(n)s correctly, outside of any reader study.",
                len(given),
            )
        )
        url = reverse("study-results", args=[study.slug]) if study else reverse("models-compare")
        yield Event(at=max(times), kind=HistoryKind.MODEL, sentence=sentence % facts, url=url)
