"""The pages of a coordinator of a large site: 2,000,000 questions on 570,000 exams, 3,000,000 responses, on PostgreSQL.

``python -m tests.bench scale`` makes the rows by SQL, which takes some ten minutes and 6 GB, in a database of its own;
REXVQA_BENCH_SCALE says another number of questions. ``python -m tests.bench.child migrated tests.bench.scale make [N]``
and ``... ask`` do one of the two in the database of TEST_DATABASE_URL with the settings of tests, so that two programs
can be asked on the same rows.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

from tests.bench.measuring import analyze, asked_in_turns, coordinator, told_in_tests
from tests.bench.rows import Row, median, percentile
from tests.processes import postgres_url, temporary_database

N_QUESTIONS = 2_000_000
N_STUDIES, N_READERS = 20, 30
TIMES = int(os.environ.get("REXVQA_BENCH_TIMES", "20"))  # each page
DATABASE = "rexvqa_bench_scale"
PAGES = {
    "home": "/",
    "banks": "/banks/",
    "bank": "/banks/large/",
    "rare finding": "/banks/large/?finding=negative_stem",
    "one wording": "/banks/large/?q=seldom+word+777",
    "part of a word": "/banks/large/?q=ldom+wo",
    "common word": "/banks/large/?q=effusion",
    "no such word": "/banks/large/?q=zzzz",
    "own id": "/banks/large/?own_id=q777",
    "images": "/images/",
    "images of the bank": "/images/?bank=large",
    "missing images": "/banks/large/missing/",
    "studies": "/studies/",
    "studies, API": "/api/v1/studies/",
    "jobs": "/jobs/",
}


def measure() -> list[Row]:
    server = postgres_url()
    if server is None:
        print("No PostgreSQL answers: nothing was measured.")
        return []
    n = int(os.environ.get("REXVQA_BENCH_SCALE", N_QUESTIONS))
    with temporary_database(server, DATABASE) as url:
        told_in_tests(make, n, database_url=url)
        told = told_in_tests(ask, database_url=url)
    name = f"{n:,} questions: {{}}, {{}} queries, p95 of {TIMES}"
    return [
        Row(name.format(page, queries), percentile(ms, 0.95), "ms", "100", "median", median(ms))
        for page, (ms, queries) in told.items()
    ]


def make(n: int) -> dict[str, float]:
    """Rows as an import, uploads and readers leave them; seconds of each table."""
    from django.apps import apps
    from django.core.management.color import no_style
    from django.db import connection
    from django.utils import timezone

    from annotation.models import BankImport, QuestionBank

    now = timezone.now()
    bank = QuestionBank.objects.create(name="Large", slug="large", created_at=now)
    times = {"started_at": now, "heartbeat_at": now, "finished_at": now}
    one = BankImport.objects.create(bank=bank, state="published", file_name="made.json", result={"created": n}, **times)
    spent = {}
    for table, sql in _statements(bank.pk, one.pk, n):
        begun = time.perf_counter()
        with connection.cursor() as cursor:
            cursor.execute("SET session_replication_role TO replica; SET synchronous_commit TO off")
            cursor.execute(sql)
        spent[table] = round(time.perf_counter() - begun, 1)
        print(table, spent[table], file=sys.stderr, flush=True)
    with connection.cursor() as cursor:
        cursor.execute("SET session_replication_role TO origin")
        for sql in connection.ops.sequence_reset_sql(no_style(), list(apps.get_models())):
            cursor.execute(sql)
        begun = time.perf_counter()
        cursor.execute("VACUUM ANALYZE")
    return spent | {"analyze": round(time.perf_counter() - begun, 1)}


def _statements(bank: int, brought_by: int, n: int) -> list[tuple[str, str]]:
    """By table; every row has the number of its place, so that others find it without asking."""
    from annotation.models import AnswerKey, Exam, Finding, Image, Job, Question, Report, Revision, SourceIdentifier
    from readerstudy.models import Arm, CaseSet, Enrolment, ReaderStudy, Reading, Response, StudyCase

    n_exams, n_images, each = n * 57 // 200, n * 2 // 5, n // 400
    n_cases, n_enrolments = N_STUDIES * each, N_STUDIES * N_READERS
    digest = (
        "('x' || encode(substr(sha256({0}::bytea), 1, 3), 'hex') || "
        "encode(substr(sha256(('{1}' || E'\\n' || {0})::bytea), 1, 5), 'hex'))::bit(64)::bigint"
    )
    image_state = (
        "CASE WHEN g % 50 = 0 THEN 'pending' WHEN g % 5000 = 1 THEN 'removed' WHEN g % 5000 = 2 THEN 'quarantined' "
        "WHEN g % 5000 = 3 THEN 'checking' ELSE 'available' END"
    )
    question_state = "CASE WHEN g % 20 = 0 THEN 'accepted' WHEN g % 3000 = 1 THEN 'needs_revision' ELSE 'imported' END"
    sha256 = {"content_sha256": "lpad(g::text, 64, '0')"}
    stem = (
        "'Which finding of patient ' || g || ' explains the effusion ' || abs(hashint4(g)) % 5000 || "
        "CASE WHEN g % 2500 = 777 THEN ' by the seldom word ' || g ELSE '' END || ', as far as it is seen?'"
    )
    options = '["Effusion on the left", "Pneumothorax", "Consolidation of the lingula", "No finding"]'
    place, reading = "1 + (g - 1) % {}", f"(g - 1) / {each}"
    of = {"bank_id": bank, "bank_import_id": brought_by}
    name = {"bank_id": bank, "root": "''"}
    sources: list[tuple[str, Any, int, dict[str, Any]]] = [
        ("", Exam, n_exams, {**of, "pseudonym": "'exam' || g", "patient_pseudonym": "'p' || g / 3"}),
        ("", Image, n_images, {"exam_id": place.format(n_exams), "state": image_state, "view_position": "'PA'"}),
        (
            "", Question, n,
            {"bank_id": bank, "number": "g", "exam_id": place.format(n_exams), "split": "''",
             "state": question_state},
        ),
        (
            "", Revision, n,
            {**of, **sha256, "question_id": "g", "stem": stem, "options": f"'{options}'",
             "task": "(ARRAY['presence','negation','differential','location','geometric'])[1 + g % 5]",
             "category": "'Category ' || abs(hashint4(g)) % 30", "subcategory": "'Part ' || g % 5",
             "difficulty": "(ARRAY['easy','medium','hard',''])[1 + g % 4]"},
        ),
        ("", Report, n_exams, {**sha256, "exam_id": "g", "findings": "'Findings of exam ' || g"}),
        (
            "", AnswerKey, n,
            {"revision_id": "g", "key": "'B'", "report_id": place.format(n_exams), "explanation": "'As is told.'"},
        ),
        (
            "", Finding, n // 3,
            {"bank_id": bank, "revision_id": "3 * g", "rule_version": 1, "place": "'stem'", "detail": "'Reword it.'",
             "rule": "CASE WHEN g % 2000 = 0 THEN 'negative_stem' ELSE 'absolute_terms' END", "found_at": "now()"},
        ),
        (
            "identifiers of questions", SourceIdentifier, n,
            {**name, "id": "g", "kind": "'question_key'", "value": "'q' || g", "question_id": "g",
             "digest": digest.format("('q' || g)", "question_key")},
        ),
        (
            "identifiers of exams", SourceIdentifier, n_exams,
            {**name, "id": f"{n} + g", "kind": "'exam_key'", "value": "'e' || g", "exam_id": "g",
             "digest": digest.format("('e' || g)", "exam_key")},
        ),
        (
            "identifiers of images", SourceIdentifier, n_images,
            {**name, "id": f"{2 * n} + g", "kind": "'image_path'", "value": "'p/' || g || '.png'", "image_id": "g",
             "digest": "g", "exam_id": place.format(n_exams)},
        ),
        (
            "", ReaderStudy, N_STUDIES,
            {"name": "'Study ' || g", "slug": "'study-' || g", "bank_id": bank, "frozen_at": "now()",
             "created_at": "now() - g * interval '1 day'",
             "state": "(ARRAY['open', 'frozen', 'analysed', 'closed'])[1 + g % 4]"},
        ),
        ("", Arm, N_STUDIES, {"study_id": "g"}),
        ("", CaseSet, N_STUDIES, {"study_id": "g", "name": "'All cases'"}),
        (
            "", StudyCase, n_cases,
            {"study_id": f"1 + (g - 1) / {each}", "number": place.format(each), "revision_id": "g"},
        ),
        ("", CaseSet.cases.through, n_cases, {"caseset_id": f"1 + (g - 1) / {each}", "studycase_id": "g"}),
        (
            "", Enrolment, n_enrolments,
            {"study_id": f"1 + (g - 1) / {N_READERS}", "case_set_id": f"1 + (g - 1) / {N_READERS}",
             "pseudonym": "'R' || g", "enrolled_at": "now()"},
        ),
        (
            "", Reading, n_enrolments * each,
            {"enrolment_id": f"1 + {reading}", "case_id": f"{reading} / {N_READERS} * {each} + {place.format(each)}",
             "arm_id": f"1 + {reading} / {N_READERS}", "position": place.format(each), "closed_at": "now()"},
        ),
        (
            "", Response, n_enrolments * each,
            {"reading_id": "g", "is_confirmed": "true", "state": "'answered'", "option": "'B'", "stored_at": "now()",
             "active_ms": "20000"},
        ),
        (
            "", Job, n // 10,
            {"kind": "'export_bank'", "title": "'Export ' || g", "state": "'succeeded'",
             "created_at": "now() - g * interval '1 minute'"},
        ),
    ]  # fmt: skip
    return [(name or model._meta.db_table, _inserted(model, count, cells)) for name, model, count, cells in sources]


def _inserted(model: Any, n: int, cells: dict[str, Any]) -> str:
    from django.db.models import AutoField

    from annotation.models.fields import PublicIdField

    cells = dict(cells)
    for each in model._meta.concrete_fields:
        if str(each.column) in cells or each.null or each.has_db_default():
            continue
        if isinstance(each, PublicIdField):
            cells[str(each.column)] = "lpad(g::text, 16, 'p')"
        elif isinstance(each, AutoField):
            cells[str(each.column)] = "g"
        else:
            value = each.get_default()
            text = json.dumps(value) if isinstance(value, (dict, list)) else str(value)
            cells[str(each.column)] = f"'{text}'"
    columns = ", ".join(f'"{column}"' for column in cells)
    rows = f"SELECT {', '.join(map(str, cells.values()))} FROM generate_series(1, {n}) AS g"
    return f"INSERT INTO {model._meta.db_table} ({columns}) {rows}"


def ask() -> dict[str, tuple[list[float], int]]:
    """Milliseconds of processors for each page, and how many queries it asks the first time."""
    from annotation.models import User

    User.objects.filter(email="coordinator@example.org").update(email=f"{time.time()}@example.org")  # asked before
    client = coordinator()
    analyze()
    return asked_in_turns(client, PAGES, TIMES)
