"""The pages of a coordinator's first day with a bank of 100,000 questions, on both databases.

Before the upload all images are missing; after it seven in a thousand are, and three are lost or being searched, and a
tenth of the questions is in a draft. Milliseconds of processors.
"""

from __future__ import annotations

from typing import Any

from tests.bench.bank_page import fill
from tests.bench.measuring import analyze, asked_in_turns, coordinator, told_in_tests
from tests.bench.rows import Row, on_both_databases, percentile

N_QUESTIONS = 100_000
TIMES = 40  # each page
DATABASE = "rexvqa_bench_first_day"


def measure() -> list[Row]:
    return on_both_databases(_measured, DATABASE)


def _measured(name: str, url: str) -> list[Row]:
    told = told_in_tests(run, N_QUESTIONS, database_url=url)
    beside = "profile", percentile(told.pop("profile")[0], 0.95)
    rows = [
        Row(f"{name}: {page}, {n} queries, p95", percentile(ms, 0.95), "ms", "100", *beside)
        for page, (ms, n) in told.items()
    ]
    return sorted(rows, key=lambda row: -row.value)


def run(n: int) -> dict[str, Any]:
    """Of each page the milliseconds of each time, and how many queries it asks."""
    bank, client = fill(n, is_answered=False), coordinator()
    _name_images(bank)
    analyze()
    before = asked_in_turns(client, _pages(bank.slug), TIMES)
    one = _uploaded(bank)
    analyze()
    found = {f"before the upload: {name}": told for name, told in before.items()}
    return found | asked_in_turns(client, _pages(bank.slug, one), TIMES)


def _pages(bank: str, one: Any = None) -> dict[str, str]:
    drawn = one.plan.questions.first().revision.question.number if one else 1
    pages = {
        "home": "/",
        "banks": "/banks/",
        "bank": f"/banks/{bank}/",
        "question": f"/banks/{bank}/{drawn}/",
        "images": "/images/",
        "images of the bank": f"/images/?bank={bank}",
        "missing images": f"/banks/{bank}/missing/",
        "new upload": f"/uploads/new/?bank={bank}",
        "form of a sample": f"/samples/new/?bank={bank}",
        "preview of a sample": f"/samples/new/?bank={bank}&per_thousand=100&seed=1&by=difficulty",
        "preview of a sample by category": f"/samples/new/?bank={bank}&per_thousand=100&seed=1&by=category",
    }
    if one is None:
        return pages
    return pages | {
        "profile": "/profile/",
        "import of questions": "/banks/import/",
        "samples": "/samples/",
        "sample": f"/samples/{one.plan.slug}/",
        "form of a round": f"/rounds/new/?sample={one.plan.slug}",
        "rounds": "/rounds/",
        "draft of a round": f"/rounds/{one.slug}/",
    }


def _name_images(bank: Any) -> None:
    """None has come; each is named as an import does it, and so are questions and exams."""
    from annotation.hashes import identifier_digest
    from annotation.models import Image, Question, SourceIdentifier
    from annotation.questionbank.bulk import insert_rows

    Image.objects.update(state="pending")
    images = list(Image.objects.values_list("pk", "exam_id"))
    named = [
        *(("image_path", f"p{exam % 97:02}/s{exam:07}/{pk}.png", None, exam, pk) for pk, exam in images),
        *(("exam_key", f"study_{exam}", None, exam, None) for _pk, exam in images),
        *(("question_key", f"q{n}", pk, None, None) for pk, n in Question.objects.values_list("pk", "number")),
    ]
    columns = ("digest", "kind", "value", "bank_id", "question_id", "exam_id", "image_id")
    rows = [(identifier_digest(kind, value), kind, value, bank.pk, *of) for kind, value, *of in named]
    insert_rows(SourceIdentifier, columns, rows)


def _uploaded(bank: Any) -> Any:
    """Most images have come, and a tenth of the questions is in a draft."""
    from django.db.models import F
    from django.utils import timezone

    from annotation.enums import Role
    from annotation.models import Image
    from annotation.review.rounds import create_round
    from annotation.review.samples import draw_sample
    from tests.conftest import make_person

    images, now = Image.objects.annotate(place=F("pk") % 1000), timezone.now()
    images.filter(place__gte=10).update(state="available")
    for place, state in enumerate(("removed", "quarantined", "checking")):
        images.filter(place=place).update(state=state)
    plan = draw_sample(bank, actor=None, at=now)
    reviewers = [make_person(name, Role.REVIEWER) for name in ("Rita", "Remo")]
    return create_round(plan, name="Spring", reviewers=reviewers, actor=reviewers[0], at=now)
