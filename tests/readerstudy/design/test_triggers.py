"""The database itself refuses to change what was frozen or analysed, and lets through what a study still needs."""

from __future__ import annotations

from tests.processes import manage

TAMPER = """
from django.db import DatabaseError, transaction
from annotation.models import AnswerKey, BankImport, Revision
from readerstudy.design.creating import copy_study
from readerstudy.design.creating import create_study
from readerstudy.design.freezing import freeze_study
from readerstudy.conducting.lifecycle import close_study
from readerstudy.conducting.lifecycle import purge_study
from readerstudy.models import *
from tests.annotation.review.cases import NOON
from tests.readerstudy.design.made import make_questions, plan_for
study = create_study(plan_for(make_questions(8), 4, practice=(7,)), actor=None, at=NOON)
freeze_study(study, actor=None, at=NOON)
draft = copy_study(study, actor=None, at=NOON)
case, order = study.cases.first(), study.orders.first()
def put(queryset, **values):
    return lambda: queryset.update(**values)
ATTEMPTS = {
    "reword a question": put(Revision.objects.filter(pk=case.revision_id), stem="Another question"),
    "change an option": put(Revision.objects.filter(pk=case.revision_id), options=["a", "b", "c", "d"]),
    "change a key": put(AnswerKey.objects.filter(pk=case.revision_id), key="A"),
    "change an explanation": put(AnswerKey.objects.filter(pk=case.revision_id), explanation="other"),
    "give a reason": put(study.cases, accepted_because="later"),
    "add a case": lambda: StudyCase.objects.create(study=study, number=9, revision=Revision.objects.last()),
    "take a case out": lambda: study.cases.filter(pk=case.pk)._raw_delete("default"),
    "move a case from a draft": put(draft.cases.filter(number=4), study=study, number=9),
    "leave a set": lambda: study.sets.get().cases.clear(),
    "rename a set": put(study.sets, name="Other"),
    "add a set": lambda: CaseSet.objects.create(study=study, number=2, name="Two"),
    "change the arm": put(study.arms, information="age_sex"),
    "change an order": put(study.orders.filter(pk=order.pk), number=99),
    "add an order": lambda: PresentationOrder.objects.create(
        study=study, arm=order.arm, case_set=order.case_set, number=99, rule="x"),
    "take an order away": lambda: study.orders.filter(pk=order.pk)._raw_delete("default"),
    "swap places": put(order.places.filter(block="main", position=1), position=99),
    "swap options": put(order.places.all(), options="DCBA"),
    "take a place away": lambda: order.places.all()._raw_delete("default"),
    "change the rules": put(ReaderStudy.objects.filter(pk=study.pk), rules={}),
    "change the protocol": put(ReaderStudy.objects.filter(pk=study.pk), protocol_sha256="0"),
    "thaw it": put(ReaderStudy.objects.filter(pk=study.pk), state="draft"),
    "delete it": lambda: ReaderStudy.objects.filter(pk=study.pk)._raw_delete("default"),
}
for name, change in ATTEMPTS.items():
    try:
        with transaction.atomic():
            change()
        print("WENT THROUGH", name)
    except DatabaseError as error:
        if "frozen" not in str(error):
            print("OTHER ERROR", name, error)
print("tried", len(ATTEMPTS))
enrolment = Enrolment.objects.create(study=study, case_set=order.case_set, pseudonym="R1", enrolled_at=NOON)
order.enrolment = enrolment
order.save()
Revision.objects.filter(pk=case.revision_id).update(superseded_by=BankImport.objects.get())
Revision.objects.get(pk=case.revision_id).save()
Revision.objects.exclude(pk__in=study.cases.values("revision")).update(stem="New words for what no study uses")
study.save()
enrolment.withdrawn_at = NOON
enrolment.save()
close_study(study, actor=None, at=NOON, confirmed_open=0)
draft.cases.update(accepted_because="better")
purge_study(draft, NOON)
print("what is needed went through")
"""

ANALYSED = """
from django.db import DatabaseError, transaction
from readerstudy.design.creating import copy_study
from readerstudy.conducting.lifecycle import purge_study
from readerstudy.models import Analysis
from tests.annotation.review.cases import NOON
from tests.readerstudy.results.made import analysed_study
analysis = analysed_study(state="frozen")
rows = Analysis.objects.filter(pk=analysis.pk)
ATTEMPTS = {
    "change the result": lambda: rows.update(result="{}"),
    "change its date": lambda: rows.update(created_at=NOON.replace(year=2020)),
    "save it again": analysis.save,
    "delete it": analysis.delete,
    "delete it by hand": lambda: rows._raw_delete("default"),
}
for name, change in ATTEMPTS.items():
    try:
        with transaction.atomic():
            change()
        print("WENT THROUGH", name)
    except DatabaseError as error:
        if "insert-only" not in str(error):
            print("OTHER ERROR", name, error)
print("tried", len(ATTEMPTS))
analysis.pk = analysis.public_id = None
analysis.public_id, analysis.result_sha256 = "another", "1" * 64
analysis.save(force_insert=True)
purge_study(copy_study(analysis.study, actor=None, at=NOON), NOON)
print("what is needed went through")
"""

READ = """
from django.db import DatabaseError, transaction
from annotation.enums import Role
from readerstudy.models import Response
from tests.conftest import make_person
from tests.readerstudy.exports.read_study import read
from tests.readerstudy.studies import enrol, later, make_study, places_of
places = places_of(enrol(make_study("Read"), make_person("Rita", Role.READER)))
reading = read(places[0], {"state": "timed_out"}, {"option": "A"})
rows = Response.objects.filter(reading=reading)
def add(**values):
    return lambda: Response.objects.create(reading=reading, stored_at=later(9), **values)
ATTEMPTS = {
    "change an answer": lambda: rows.update(option="B"),
    "take an answer away": lambda: rows._raw_delete("default"),
    "answer twice": add(is_confirmed=True, state="answered", option="B"),
    "close it twice with one choice": add(is_confirmed=False, state="timed_out"),
    "choose nothing": add(is_confirmed=False, choice_sequence=1, state="unconfirmed"),
    "run out of time with an option": add(is_confirmed=False, choice_sequence=1, state="timed_out", option="B"),
    "be of no known state with an option": add(is_confirmed=False, choice_sequence=1, state="other", option="B"),
}
for name, change in ATTEMPTS.items():
    try:
        with transaction.atomic():
            change()
        print("WENT THROUGH", name)
    except DatabaseError as error:
        if not any(word in str(error) for word in ("insert-only", "response_option", "UNIQUE", "one_")):
            print("OTHER ERROR", name, error)
print("tried", len(ATTEMPTS))
add(is_confirmed=False, choice_sequence=1, state="unconfirmed", option="B")()
read(places[1], {"state": "late"})
read(places[2], {"state": "late", "option": "B"})
print("what is needed went through")
"""


def test_the_database_refuses_to_change_what_was_frozen(migrated: dict[str, str]) -> None:
    done = manage("shell", "-v0", "-c", TAMPER, env=migrated)
    assert done.stdout.splitlines() == ["tried 22", "what is needed went through"], done.stderr


def test_the_database_refuses_to_change_a_stored_analysis(migrated: dict[str, str]) -> None:
    """A further one is stored, and a draft of the same design is deleted as before."""
    done = manage("shell", "-v0", "-c", ANALYSED, env=migrated)
    assert done.stdout.splitlines() == ["tried 5", "what is needed went through"], done.stderr


def test_the_database_refuses_to_change_a_response_and_one_that_says_two_things(migrated: dict[str, str]) -> None:
    """Several ends of a case stand beside each other."""
    done = manage("shell", "-v0", "-c", READ, env=migrated)
    assert done.stdout.splitlines() == ["tried 7", "what is needed went through"], done.stderr
