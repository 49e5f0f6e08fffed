"""The page of a bank of 572,419 questions: milliseconds and queries for filters, sorts and pages, on both databases.

States and findings are in it; as many questions as REXVQA_BENCH_BANK says. Beside the worst of the addresses stands
what a count and an offset of the same rows cost.
"""

from __future__ import annotations

import json
import os
import random
from itertools import product
from typing import Any

from tests.bench.measuring import analyze, coordinator, got, n_queries, seconds, told_in_tests
from tests.bench.rows import Row, median, on_both_databases, percentile

N_QUESTIONS = 572_419
N_ANSWERED, N_MODELS, N_SETTLED = 41_007, 8, 4_000
TIMES = 9  # each address, a third of them from each place
AT_ONCE = 20_000
DATABASE = "rexvqa_bench_bank"
PLACES = ("", "after={middle}", "before={middle}")
ASKED = {
    "no filter": "",
    "task": "task=negation",
    "category": "category=Category+07",
    "rare category": "category=Rare",
    "difficulty": "difficulty=hard",
    "words": "q=effusion+17",
    "words that nothing has": "q=zzzz",
    "state, few": "state=disputed",
    "state, many": "state=accepted",
    "state as imported": "state=imported",
    "finding, any": "finding=any",
    "finding, few": "finding=negative_stem",
    "finding, many": "finding=absolute_terms",
    "valid": "validity=pass",
    "not valid": "validity=fail",
    "not examined": "validity=not_examined",
    "fails c1": "validity=c1-fail",
    "flag": "flag=hallucinated",
    "outcome": "outcome=answers_differ",
    "failed by all models": "failed=all",
    "failed by one model": "failed=1",
    "failed by no model": "failed=none",
    "subcategory": "category=Category+07&subcategory=Part+2",
    "task and category": "task=negation&category=Category+07",
    "state and category": "state=accepted&category=Category+07",
    "finding and difficulty": "finding=absolute_terms&difficulty=easy",
    "five at once": "task=presence&difficulty=easy&state=accepted&finding=any&q=effusion",
}
SORTS = ("", "-number", "task", "-task", "category", "-category", "difficulty", "-difficulty", "state", "-state")


def measure() -> list[Row]:
    return on_both_databases(_measured, DATABASE)


def _measured(name: str, url: str) -> list[Row]:
    told = told_in_tests(run, n := n_of_bank(), database_url=url)
    times, beside = told["times"], ("offset and count", told["offset"])
    every = [ms for of_one in times.values() for ms in of_one]
    worst = max(times, key=lambda one: median(times[one]))
    return [
        Row(f"{name}: {n:,} questions, every filter, sort and page, p95", percentile(every, 0.95), "ms", "100"),
        Row(f"{name}: the slowest, median of {TIMES}: {worst}", median(times[worst]), "ms", "100", *beside),
        Row(f"{name}: median", median(every), "ms"),
        Row(f"{name}: failures of {N_MODELS} models at {N_ANSWERED:,} questions, counted once", told["counting"], "ms"),
        Row(f"{name}: V(Q) of all by a gate of every part, counted once", told["gate"], "ms", "60000"),
        Row(f"{name}: most queries: {told['most'][0]}", told["most"][1], "queries", "12"),
    ]


def n_of_bank() -> int:
    return int(os.environ.get("REXVQA_BENCH_BANK", N_QUESTIONS))


def run(n: int) -> dict[str, Any]:
    """Milliseconds by the address, the most queries, and what an offset with a count takes."""
    from django.urls import reverse

    bank = fill(n)
    by_gate = _counted_by_gate(bank)
    client = coordinator()
    page = reverse("bank", args=[bank.slug])
    first = {asked: _ms(client, f"{page}?{asked}") for asked in ASKED.values()}  # what is kept of it is made once
    analyze()
    times: dict[str, list[float]] = {}
    most = ("", 0)
    sorts = [sort for sort in SORTS if "number" in sort or not (sort and os.environ.get("REXVQA_BENCH_QUICK"))]
    for (name, asked), sort in product(ASKED.items(), sorts):
        spent = times.setdefault(f"{name}, sorted by {sort or 'number'}", [])
        for place in PLACES:
            words = (asked, sort and f"sort={sort}", place.format(middle=n // 2))
            address = f"{page}?{'&'.join(filter(None, words))}"
            most = max(most, (address, n_queries(client, address)), key=lambda one: one[1])
            spent += [_ms(client, address) for _turn in range(TIMES // len(PLACES))]
    return {"times": times, "most": most, "offset": _offset(bank), "counting": first["failed=all"], "gate": by_gate}


def _ms(client: Any, address: str) -> float:
    return 1000 * seconds(lambda: got(client, address))


def _counted_by_gate(bank: Any) -> float:
    """Milliseconds of V(Q) of all; c1 is judged of most."""
    from django.utils import timezone

    from annotation.models import Finding, Question, QuestionBank, Revision, User
    from annotation.questionbank.bulk import insert_rows, public_ids
    from annotation.questionbank.kernels.question_checks import GATED
    from annotation.questionbank.validity import count_gate, set_gate

    now, source = timezone.now(), random.Random(3)
    revisions = Revision.objects.filter(bank=bank).order_by("pk").values_list("pk", flat=True)
    judged = [pk for pk in revisions if source.random() < 0.8]
    names = ("public_id", "bank_id", "revision_id", "rule", "rule_version", "place", "detail", "verdict", "found_at")
    verdicts = source.choices(("pass", "fail", "undecided"), (90, 8, 2), k=len(judged))
    rows = zip(public_ids(len(judged)), judged, verdicts, strict=True)
    insert_rows(
        Finding, names, [(name, bank.pk, pk, "c1", 1, "question", "Said.", word, str(now)) for name, pk, word in rows]
    )
    QuestionBank.objects.filter(pk=bank.pk).update(compared_at=now)
    set_gate(bank, GATED, actor=None, at=now)
    return 1000 * seconds(lambda: count_gate(bank, Question.objects.none(), person=User(pk=0), n_questions=1))


def _offset(bank: Any) -> float:
    """Milliseconds of a count and a page in the middle, as a paginator asks for them."""
    from annotation.models import Revision

    rows = Revision.objects.in_bank(bank).current().filter(question__state="accepted").order_by("category", "question")

    def ask() -> None:
        n = rows.count()
        list(rows.select_related("question")[n // 2 : n // 2 + 50])

    return 1000 * seconds(ask)


def fill(n: int, *, is_answered: bool = True) -> Any:
    """A bank of ``n`` questions on half as many exams, the same each time."""
    from django.db import transaction
    from django.utils import timezone

    from annotation.enums import ImportState
    from annotation.models import BankImport, QuestionBank

    now = timezone.now()
    bank = QuestionBank.objects.create(name="Bench", slug="bench", created_at=now)
    brought_by = BankImport.objects.create(
        bank=bank, state=ImportState.PUBLISHED, file_name="made.json", started_at=now, heartbeat_at=now,
        finished_at=now, result={"created": n},
    )  # fmt: skip
    source = random.Random(1)
    for start in range(0, n, AT_ONCE):
        with transaction.atomic():
            _some(bank, brought_by, range(start + 1, min(start + AT_ONCE, n) + 1), source)
    _further(bank, n, source)
    if is_answered:
        _reviewed_and_answered(bank)
    return bank


def _some(bank: Any, brought_by: Any, numbers: range, source: random.Random) -> None:
    from annotation.models import AnswerKey, Exam, Finding, Image, Question, Rendition, Revision
    from annotation.questionbank.bulk import insert_rows, public_ids, reserve_ids

    n, made = len(numbers), "2026-11-24 12:00:00+00:00"
    exams, images = reserve_ids(Exam, n // 2 + 1), reserve_ids(Image, n // 2 + 1)
    questions, revisions = reserve_ids(Question, n), reserve_ids(Revision, n)

    def named(*columns: Any) -> list[tuple[Any, ...]]:
        """Rows of these columns, each with a name of its own before them."""
        return list(zip(public_ids(len(columns[0])), *columns, strict=True))

    rows: list[Any] = [(name, pk, bank.pk, brought_by.pk, f"exam{pk}") for name, pk in named(exams)]
    insert_rows(Exam, ("public_id", "id", "bank_id", "bank_import_id", "pseudonym"), rows)
    rows = [(*row, "available", "PA") for row in named(images, exams)]
    insert_rows(Image, ("public_id", "id", "exam_id", "state", "view_position"), rows)
    names = ("name", "image_id", "kind", "width", "height", "bits", "n_bytes", "sha256", "created_at")
    insert_rows(Rendition, names, [(*row, "preview", 800, 1024, 8, 1, "0" * 64, made) for row in named(images)])
    rows = [(*row, bank.pk) for row in named(questions, numbers, [exams[place // 2] for place in range(n)])]
    insert_rows(Question, ("public_id", "id", "number", "exam_id", "bank_id"), rows)
    words = json.dumps(["Pleural effusion on the left", "Pneumothorax", "Consolidation of the lingula", "No finding"])
    ask = "Which finding of patient {} explains the effusion {}, as far as it is seen?"
    rows = []
    for pk, question, number in zip(revisions, questions, numbers, strict=True):
        stem = ask.format(number, source.randrange(5_000))
        task = source.choice(("presence", "negation", "differential", "location", "geometric"))
        category = "Rare" if source.random() < 0.0005 else f"Category {source.randrange(60):02}"
        part = f"Part {number % 5}"
        difficulty = source.choice(("easy", "medium", "hard", ""))
        sha256 = f"{number:064x}"
        rows.append((pk, question, 1, bank.pk, brought_by.pk, stem, words, task, category, part, difficulty, sha256))
    names = ("id", "question_id", "number", "bank_id", "bank_import_id", "stem", "options", "task", "category")
    insert_rows(Revision, (*names, "subcategory", "difficulty", "content_sha256"), rows)
    insert_rows(AnswerKey, ("revision_id", "key"), [(pk, "B") for pk in revisions])
    chances = [(pk, source.random()) for pk in revisions]
    found = [("absolute_terms", pk) for pk, chance in chances if chance < 0.3]
    found += [("negative_stem", pk) for pk, chance in chances if chance > 0.9995]
    said = (bank.pk, 1, "stem", "Reword it.", made)
    named_findings = [(name, *of, *said) for name, of in named(found)]
    columns = ("public_id", "rule", "revision_id", "bank_id", "rule_version", "place", "detail", "found_at")
    insert_rows(Finding, columns, named_findings)


def _further(bank: Any, n: int, source: random.Random) -> None:
    """States of a tenth of the questions."""
    from annotation.models import Question

    for state, share in (("accepted", 0.07), ("revised", 0.01), ("disputed", 0.001), ("withdrawn", 0.01)):
        numbers = source.sample(range(1, n + 1), int(share * n))
        for start in range(0, len(numbers), 500):
            Question.objects.filter(bank=bank, number__in=numbers[start : start + 500]).update(state=state)


def _reviewed_and_answered(bank: Any) -> None:
    """A closed round with settlements, and the answers of eight models to as many questions as the paper asked."""
    from django.utils import timezone

    from annotation.models import ReviewRound, Revision, SamplingPlan, Settlement
    from annotation.questionbank.bulk import insert_rows
    from readerstudy.models import ModelEntry, Prediction, PredictionRun

    now, source = timezone.now(), random.Random(2)
    plan = SamplingPlan.objects.create(
        name="Sample", slug="sample", bank=bank, rule="made", stratify_by="none", per_thousand=1, seed=1, strata=[],
        n_frame=1, frame_sha256="", created_at=now,
    )  # fmt: skip
    one = ReviewRound.objects.create(name="Round", slug="round", plan=plan, state="closed", created_at=now)
    asked = list(Revision.objects.filter(bank=bank).order_by("pk").values_list("pk", flat=True)[:N_ANSWERED])
    differ = [{"code": "answers_differ", "word": "", "n": 2}]
    Settlement.objects.bulk_create(
        Settlement(
            round=one,
            revision_id=pk,
            outcome="accepted",
            rule="made",
            settled_at=now,
            reasons=source.choice(([], differ)),
        )
        for pk in asked[:N_SETTLED]
    )
    counts = {"n_read": N_ANSWERED, "n_matched": N_ANSWERED}
    counts |= dict.fromkeys(("n_failed", "n_missing", "n_duplicate", "n_unknown"), 0)
    for n in range(N_MODELS):
        run = PredictionRun.objects.create(
            entry=ModelEntry.objects.create(name=f"Model {n}", created_at=now), bank=bank, number=1, file_name="made",
            file_sha256="", form="harness", rule="made", is_named=True, imported_at=now, **counts,
        )  # fmt: skip
        rows = [(run.pk, pk, "answered", source.choice("ABBC"), row) for row, pk in enumerate(asked)]
        insert_rows(Prediction, ("run_id", "revision_id", "state", "option", "row"), rows)
