"""Jobs in every state, and what came in by them."""

from __future__ import annotations

from typing import Any

from django.utils import timezone

from annotation.enums import JobState
from annotation.models import ColumnMatching, Job, Upload
from annotation.questionbank.kernels.column_matching import Matching
from annotation.questionbank.uploads import receive_file
from tests.annotation.questionbank.sheets import SHEET
from tests.browser.pages.place import Place


def start_jobs(place: Place) -> None:
    """A job in every state; an upload and a question import that are over, and each one that waits."""
    cora, now = place.people["cora"], timezone.now()
    refused = [{"file": place.said("box/b.png"), "code": "format", "message": place.said("This is no image.")}]
    taken = {"files": 2, "images": 1, "exams": 1, "duplicates": 0, "quarantined": 0, "refused": refused, "credited": 1}
    counts = {
        "read": 4,
        "created": 3,
        "updated": 0,
        "unchanged": 0,
        "rejected": 1,
        "exams": 3,
        "images": 6,
        "n_errors": 1,
    }
    errors = [{"key": "q3", "field": "correct_answer", "code": "key", "message": place.said("Not a letter.")}]
    rows = [{"key": place.said(f"q{n}"), "act": "created"} for n in (1, 2)]
    checked = {**counts, "acceptable": True, "errors": errors, "rows": rows, "stored": False}
    asked = {"name": place.named("questions.json"), "bank": place.things["bank"].name}
    results: dict[str, dict[str, Any]] = {
        state: {"state": state} for state in (JobState.QUEUED, JobState.RUNNING, JobState.FAILED, JobState.CANCELLED)
    }
    results[JobState.RUNNING] |= {"progress_done": 40, "progress_total": 100, "message": place.said("reading")[:290]}
    results[JobState.FAILED] |= {"error": place.said("The disk is full.")}
    results["taken"] = {"state": JobState.SUCCEEDED, "kind": "ingest_upload", "result": taken}
    files = [[name, 1234, "0" * 64, "what it is"] for name in ("README.txt", "data/reviews.csv", "tables/grades.csv")]
    told = {"files": files, "reviews": 14, "sums": "0" * 64, "state": "", "sha256": "0" * 64, "bytes": 12_345}
    results["reported"] = {
        "state": JobState.SUCCEEDED,
        "kind": "make_review_report",
        "params": {"round": place.things["disputed"].pk},
        "result": {"round": "disputed", "report": told},
        "finished_at": now,
    }
    results["checked"] = {"state": JobState.SUCCEEDED, "kind": "check_questions", "params": asked, "result": checked}
    results["checking"] = {"state": JobState.QUEUED, "kind": "check_questions", "params": asked}
    many = {"bank": place.things["bank"].pk, "act": "tag", "words": place.said("course")[:40].strip(), "actor": cora.pk}
    left = {"tagged": {"n": 212, "numbers": [*range(1, 101)]}, "judged": {"n": 2, "numbers": [3, 5]}}
    results["changed"] = {
        "state": JobState.SUCCEEDED,
        "kind": "change_questions",
        "params": many | {"at": now.isoformat()},
        "result": {"changed": 4_000, "left": left},
    }
    for name, columns in results.items():
        place.things[f"job {name}"] = Job.objects.create(
            **{
                "kind": "rehearsal",
                "title": place.named(f"Work that is {name}"),
                "created_by": cora,
                "created_at": now,
                **columns,
            }
        )
    for name, purpose in (
        ("taken", "images"),
        ("queued", "images"),
        ("checked", "questions"),
        ("checking", "questions"),
    ):
        place.things[f"upload {name}"] = Upload.objects.create(
            created_by=cora, created_at=now, purpose=purpose, n_files=2, n_bytes=90_000, job=place.things[f"job {name}"]
        )
    header, *given = SHEET.decode().splitlines()
    sheet = "\n".join(
        [f"{header},{place.said('remark')[:190].replace(',', '')}", *(f"{row},{place.said('none')}" for row in given)]
    )
    place.things["upload foreign"] = receive_file(
        [sheet.encode()], f"{asked['name'][:190]}.csv", None, bank_name=asked["bank"], actor=cora, at=now
    )

    names = [place.named(name) for name in ("qid", "image_name", "question", "answer")]
    matching = Matching(place.named("VQA-RAD"), {"id": names[0], "ImagePath": names[1]}).as_json()
    ColumnMatching.objects.create(
        name=matching["name"], columns=names, matching=matching, created_by=cora, created_at=now, changed_at=now
    )
