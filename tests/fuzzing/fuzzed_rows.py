"""Runs inside the site of REXVQA_HOME: fills it with something of every kind, and prints how programs get in.

``python -m tests.fuzzing.fuzzed_rows``; ``... count`` prints the rows of every table, and what is wrong with the audit
log.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any
from unittest.mock import patch

import django


def fill() -> dict[str, Any]:
    """Tokens of every kind, the names by which things are found, and values that bodies may hold."""
    from django.utils import timezone

    from annotation.jobs import queueing
    from annotation.models import ReviewRound, Revision
    from annotation.questionbank.checking import check_revisions
    from annotation.review.samples import draw_sample
    from readerstudy.models import Team
    from readerstudy.predictions.listing import open_submissions
    from tests.browser.pages.furnishing import furnish

    patch.object(queueing, "nudge", lambda public_id: None).start()
    place = furnish()
    cora, bank, elsewhere, now = place.people["cora"], place.things["bank"], place.things["room"].bank, timezone.now()
    open_submissions(bank, actor=cora, at=now)
    draw_sample(elsewhere, name="Elsewhere", per_thousand=1000, actor=cora, at=now)
    check_revisions(bank, Revision.objects.filter(bank=bank), actor=cora, at=now)
    places = {bank.slug, elsewhere.slug, *ReviewRound.objects.values_list("slug", flat=True), "room", "openstudy", ""}
    places |= set(Team.objects.values_list("public_id", flat=True))
    ways = {**_tokens([*place.people.values()], places), "coordinator, session": _session(cora), "nobody": {}}
    return {"ways_in": ways, "names": _names(), "values": _values()}


def _session(person: Any) -> dict[str, str]:
    from tests.ways_in import cookies_of, session_of

    csrf = "fuzz" * 8
    return {"Cookie": cookies_of(session_of(person), int(os.environ["PORT"]), csrf), "X-CSRFToken": csrf}


def _tokens(owners: list[Any], slugs: set[str]) -> dict[str, dict[str, str]]:
    """The headers of one of each role and scope, of two banks, one that is revoked and one that has expired."""
    from django.utils import timezone

    from annotation.people.tokens import make_token, places_of, revoke_token

    found: dict[str, dict[str, str]] = {}
    now = timezone.now()
    for person in owners:
        for place in places_of(person):
            for role in sorted(place.roles):
                name = f"{role}, {place.scope} {place.slug}".strip()
                if place.slug in slugs and name not in found:
                    made = make_token(person, name, role=role, place=place, days=30, actor=person, at=now)
                    found[name] = {"Authorization": f"Bearer {made.text}"}
    place = next(one for one in places_of(owners[0]) if one.roles)
    for name, at in {"revoked": now, "expired": now - timedelta(days=9)}.items():
        made = make_token(owners[0], name, role=min(place.roles), place=place, days=1, actor=None, at=at)
        found[name] = {"Authorization": f"Bearer {made.text}"}
        if name == "revoked":
            revoke_token(made.row, actor=None, at=now)
    return found


def _names() -> dict[str, list[Any]]:
    """By the word before it in an address, or by its own name: what stands there for something that is there."""
    from annotation.ingest import uploading
    from annotation.models import (
        Assignment,
        CallBatch,
        ColumnMatching,
        Exam,
        Finding,
        GenerationRun,
        Image,
        Job,
        PromptVersion,
        QuestionBank,
        QuestionComment,
        Release,
        Rendition,
        ReviewForm,
        ReviewRound,
        SamplingPlan,
        Upload,
        ValidatorRun,
    )
    from annotation.questionbank import uploads as question_files
    from readerstudy.exports.exporting import StudyTable
    from readerstudy.models import (
        Analysis,
        AnalysisReport,
        Benchmark,
        Enrolment,
        ModelEntry,
        PredictionRun,
        ReaderStudy,
        ResultsLink,
        Statement,
        Submission,
        Team,
    )
    from readerstudy.predictions.entries import UPLOADS

    def of(model: Any, field: str = "public_id", **wanted: Any) -> list[Any]:
        return list(model.objects.filter(**wanted).order_by("pk").values_list(field, flat=True)[:6])

    return {
        "banks": ["chest", *of(QuestionBank, "slug")],
        "imports": of(Upload, purpose=question_files.PURPOSE),
        "questions": [1, 2, 3],
        "findings": of(Finding, bank__slug="chest"),
        "revisions": [1],
        "comments": of(QuestionComment),
        "prompts": of(PromptVersion),
        "generation-runs": of(GenerationRun),
        "validator-runs": of(ValidatorRun),
        "endpoints": ["stand-in"],
        "act": ["pause", "resume", "stop"],
        "changes": of(Job, kind="change_questions"),
        "exams": of(Exam),
        "images": of(Image),
        "renditions": of(Rendition, "name"),
        "jobs": of(Job),
        "uploads": of(Upload, purpose=uploading.PURPOSE),
        "samples": of(SamplingPlan, "slug"),
        "rounds": of(ReviewRound, "slug"),
        "studies": of(ReaderStudy, "slug"),
        "analyses": of(Analysis),
        "reports": of(AnalysisReport),
        "readers": of(Enrolment),
        "reviewers": of(Assignment, "reviewer"),
        "column-matchings": of(ColumnMatching, "pk"),
        "review-forms": of(ReviewForm, "pk"),
        "invitations": [1, 2, 3],
        "links": of(ResultsLink, "pk"),
        "models": of(ModelEntry),
        "model-runs": of(CallBatch),
        "prediction-runs": of(PredictionRun),
        "prediction-imports": of(Upload, purpose=UPLOADS),
        "releases": of(Release),
        "leaderboards": of(Benchmark, "slug"),
        "teams": of(Team),
        "statements": of(Statement),
        "submissions": of(Submission),
        "editions": [1, 2],
        "results": [1],
        "figures": ["accuracy", "kappa"],
        "width": ["one", "two"],
        "tables": list(StudyTable),
        "form": ["csv", "jsonl", "parquet", "svg", "pdf"],
        "reviews": ["csv", "jsonl", "parquet"],
    }


def _values() -> dict[str, list[Any]]:
    """By the name of a field that is sent."""
    from annotation.models import PromptVersion, QuestionBank, SamplingPlan
    from readerstudy.models import ModelEntry, ReaderStudy

    return {
        "bank": ["chest", *QuestionBank.objects.values_list("slug", flat=True)],
        "sample": list(SamplingPlan.objects.values_list("slug", flat=True)),
        "study": list(ReaderStudy.objects.values_list("slug", flat=True)),
        "model": list(ModelEntry.objects.values_list("public_id", flat=True)),
        "reviewers": [[], ["rita@example.org"], ["rita@example.org", "remo@example.org"]],
        **{name: ["rita@example.org", "remo@example.org"] for name in ("reviewer", "to", "adjudicator")},
        **{name: list(PromptVersion.objects.values_list("public_id", flat=True)) for name in ("first", "second")},
        "endpoint": ["stand-in"],
        "act": ["tag", "untag", "withdraw", "bring_back"],
        "numbers": [[1, 2]],
        "mentions": [[]],
        "filters": [{}, {"task": "presence"}],
        "cases": [[1], [1, 2, 3]],
        "case": [1, 2, 3],
        "case_set": [1],
        "confirmed_open": [0, 1, 6, 12],
        "prompt": ["our reading"],
    }


def count() -> dict[str, Any]:
    from django.apps import apps

    from annotation.audit.recording import verify

    rows = {model._meta.label: model._default_manager.count() for model in apps.get_models()}
    return {"rows": rows, "audit": str(verify().fault)}


@contextmanager
def _without_triggers() -> Iterator[None]:
    """Rows that the tests of rooms make are changed where the database forbids it; afterwards it does again."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")
        triggers = cursor.fetchall()
        for name, _sql in triggers:
            cursor.execute(f'DROP TRIGGER "{name}"')
        yield
        for _name, sql in triggers:
            cursor.execute(sql)


def main(is_counting: bool) -> dict[str, Any]:
    django.setup()
    from django.test import override_settings

    from tests.browser.pages.endpoints import ENDPOINTS
    from tests.browser.pages.factors import PROVIDER
    from tests.browser.pages.sending import NAMED
    from tests.readerstudy.model_runs.made import STAND_IN

    if is_counting:
        return count()
    given: dict[str, Any] = {"MODEL_ENDPOINTS": (*NAMED, *ENDPOINTS, STAND_IN), "OIDC_PROVIDER": PROVIDER}
    given["ALLOWED_HOSTS"] = ["testserver"]
    with override_settings(**given), _without_triggers():
        return fill()


if __name__ == "__main__":
    print(json.dumps(main("count" in sys.argv)))
