"""How many readers had each question right, for the comparison of difficulties in a bank."""

from __future__ import annotations

from collections import defaultdict

from django.db.models import F, OuterRef, Subquery

from annotation.models import AnswerKey, QuestionBank
from readerstudy.enums import Aid, Block, ResponseState
from readerstudy.models import ReaderStudy, Response
from readerstudy.unblinding.looks import with_seen_results


def readers_right_on(bank: QuestionBank) -> dict[int, tuple[int, int]]:
    """By wording: how many of how many confirmed answers are the key, unaided, where results were seen and may be.

    Practice, voided cases and readers who withdrew or were replaced do not count.
    """
    studies = with_seen_results(ReaderStudy.objects.filter(bank=bank)).order_by()
    key = AnswerKey.objects.filter(revision=OuterRef("reading__case__revision")).values("key")
    rows = Response.objects.filter(
        is_confirmed=True,
        state=ResponseState.ANSWERED,
        reading__case__study__in=studies.values("pk"),
        reading__case__block=Block.MAIN,
        reading__case__voiding=None,
        reading__arm__aid=Aid.NONE,
        reading__enrolment__withdrawn_at=None,
        reading__enrolment__replaced_at=None,
    ).annotate(key_letter=Subquery(key), wording=F("reading__case__revision"))
    found: dict[int, list[bool]] = defaultdict(list)
    for wording, option, letter in rows.order_by().values_list("wording", "option", "key_letter"):
        found[wording].append(option == letter)
    return {wording: (sum(right), len(right)) for wording, right in found.items()}
