"""Everything that a reader's page asks of the database while a study is open, changed column by column.

Which columns are asked is taken from the statements of a recorded look at the study, so that a column that a page reads
from tomorrow on is among them. The triggers of the migrations are there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.apps import apps
from django.db import DatabaseError, connection, models, transaction
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotation.enums import Role
from annotation.models import Exam, Image, Report
from readerstudy.conducting.lifecycle import open_study
from readerstudy.design.checking import cases_with_information, sha256_of_information
from readerstudy.design.creating import create_study
from readerstudy.design.freezing import freeze_study
from readerstudy.design.kernels.plan import PlannedArm
from readerstudy.enums import Information
from readerstudy.models import Enrolment
from readerstudy.triggers import hold_frozen
from tests.annotation.review.cases import NOON
from tests.annotation.review.priors import give_prior
from tests.conftest import make_person
from tests.readerstudy.design.made import make_questions, plan_for
from tests.readerstudy.reading.desk import person
from tests.readerstudy.reading.page import ReadingPage
from tests.readerstudy.studies import enrol

# What the reader, and nobody else, writes; and who the reader is.
OF_THE_READER = re.compile(
    r"annotation_(user|membership|auditevent|assignment)|django_"
    r"|readerstudy_(enrolment|reading|response|remark|refusedanswer|timingevent)"
)
ALLOWED = {
    "annotation_image.state": "withholding an image for the sake of a patient leaves a placeholder",
    "readerstudy_readerstudy.state": "closing the study",
    "readerstudy_readerstudy.deadline_at": "moving the deadline is an act of its own, which is logged",
    "readerstudy_readerstudy.slug": "no act changes the address of a study",
    "readerstudy_presentationorder.enrolment_id": "whose order it is",
}
NEEDED = {
    *("annotation_revision.stem", "annotation_revision.options", "annotation_answerkey.key"),
    *("annotation_rendition.name", "readerstudy_shownimage.frozen", "readerstudy_studycase.information"),
}  # without these the recording would be none
REFUSED = ("frozen", "insert-only", "study_in_bin_is_draft")  # triggers, and the rule of what the bin takes
KEY = "11111111-1111-4111-8111-111111111111"
QUOTED = re.compile(r'"(\w+)"\."(\w+)"')
TOKEN = re.compile(rb"\b[A-Za-z0-9]{64}\b")  # of a form, another one each time


def open_study_page() -> ReadingPage:
    """A page that reads an open study, which shows everything that a study can show."""
    bank = make_questions(4)
    Report.objects.update(indication="Cough")
    for exam in Exam.objects.all():
        give_prior(exam, seed=200 + exam.pk % 50)
    Image.objects.update(attribution="A hospital", licence="CC BY", laterality="L", simulated=True)
    plan = plan_for(bank, 3, practice=(4,), arms=(PlannedArm(Information.INDICATION),), consent="Yes")
    study = create_study(plan, actor=None, at=NOON)
    freeze_study(study, actor=None, at=NOON, indications_read=sha256_of_information(cases_with_information(study)))
    open_study(study, actor=None, at=NOON)
    enrolment = enrol(study, make_person("Rita", Role.READER))
    Enrolment.objects.filter(pk=enrolment.pk).update(practised_at=None)
    page = ReadingPage(person(enrolment), study.slug)
    page.begin(take="yes")
    return page


def look(page: ReadingPage) -> list[bytes]:
    """Room, state, every image in each form, and the answer to a practice case; what is answered is taken back."""
    room = page.client.get(reverse("reading-room", args=[page.slug]))
    told = page.client.get(reverse("reading-state", args=[page.slug]), {"session": page.session})
    found = [TOKEN.sub(b"", room.content), told.content, *_images(page, told.json())]
    with transaction.atomic():
        [practised] = told.json()["cases"]
        page.open(practised["id"])
        answered = page.commit(practised["id"], "A", *page.watch(practised, 0, 1_500), key=KEY)
        found += [answered.content, *_images(page, page.state())]
        transaction.set_rollback(True)
    return found


def _images(page: ReadingPage, state: Any) -> list[bytes]:
    forms = (("preview", ""), ("full", "zstd"), ("full", "gzip"))
    views = [view for case in state["cases"] for view in case["views"]]
    return [
        page.client.get(view[name], headers={"Accept-Encoding": coding}).content
        for view in views
        for name, coding in forms
    ]


def columns(page: ReadingPage) -> list[str]:
    """The columns of design, bank and images that a look asks for, as table.column."""
    with CaptureQueriesContext(connection) as queries:
        look(page)
    asked = {f"{table}.{column}" for query in queries for table, column in QUOTED.findall(query["sql"])}
    tables = {model._meta.db_table: model for model in apps.get_models(include_auto_created=True)}
    return sorted(
        name
        for name in asked
        if name not in ALLOWED and not OF_THE_READER.match(name) and _field(tables, name) is not None
    )


def changes(page: ReadingPage) -> Iterator[tuple[str, str]]:
    """Each column with "refused" or "stays", or with what went wrong."""
    before = look(page)
    assert before == look(page), "two looks at the same differ"
    tables = {model._meta.db_table: model for model in apps.get_models(include_auto_created=True)}
    for name in columns(page):
        field = _field(tables, name)
        assert field is not None
        with transaction.atomic():
            yield name, _outcome(page, field, before)
            transaction.set_rollback(True)


def _outcome(page: ReadingPage, field: models.Field[Any, Any], before: list[bytes]) -> str:
    rows = field.model._base_manager.order_by("pk")
    try:
        with transaction.atomic():
            for pk, value in rows.values_list("pk", field.attname):
                rows.filter(pk=pk).update(**{field.attname: other(field, value)})
    except DatabaseError as error:
        return "refused" if any(word in str(error) for word in REFUSED) else f"failed: {error}"
    after = look(page)
    return "stays" if after == before else f"CHANGED {[n for n, one in enumerate(after) if one != before[n]]}"


def other(field: models.Field[Any, Any], value: Any) -> Any:
    """Another value that the column could hold."""
    if isinstance(field, models.ForeignKey):
        return field.related_model._base_manager.exclude(pk=value).values_list("pk", flat=True).last() or value
    if isinstance(field, models.JSONField):
        return {"other": 1}
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    if isinstance(value, datetime):
        return value + timedelta(days=1)
    if value is None or value == "":
        return NOON if isinstance(field, models.DateTimeField) else 1 if isinstance(field, models.IntegerField) else "x"
    text = str(value)
    return text[::-1] if text[::-1] != text else "x" * len(text)


def _field(tables: dict[str, Any], name: str) -> models.Field[Any, Any] | None:
    """None for a primary key, by which rows are found, and for what is no column."""
    table, column = name.split(".")
    fields = tables[table]._meta.concrete_fields if table in tables else ()
    return next((one for one in fields if one.column == column and not one.primary_key), None)


@pytest.fixture
def triggers(db: None) -> None:
    """Those of the migrations that hold a frozen study."""
    with connection.cursor() as cursor:
        editor: Any = SimpleNamespace(connection=connection, execute=cursor.execute)
        hold_frozen(editor)


def test_no_column_that_a_page_reads_changes_what_an_open_study_shows(triggers: None) -> None:
    outcomes = dict(changes(open_study_page()))
    assert {name: said for name, said in outcomes.items() if said not in ("stays", "refused")} == {}
    assert outcomes.keys() >= NEEDED
