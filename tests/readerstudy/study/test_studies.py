"""The list of studies, the page of one, and its next step in each state."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from msgspec.structs import replace
from pytest_django import DjangoAssertNumQueries

from annotation.models import User
from annotation.questionbank.editing import current_revision, revise, wording_of
from readerstudy.enums import Block, StudyState
from readerstudy.models import Enrolment, ReaderStudy, Reading, StudyRole
from readerstudy.reading.response_import import import_responses
from readerstudy.study import overview
from readerstudy.study.overview import StudyLine, lines_of, next_of_study
from tests.conftest import NOON, make_person
from tests.pages import markup
from tests.readerstudy.design.drafts import make_draft, study_coordinator
from tests.readerstudy.results.made import analysed_study
from tests.readerstudy.studies import enrol, make_study, places_of

LONG = "A study of what readers see when nobody tells them what to look for, " * 2


def tabs_of(page: str) -> list[str]:
    """The words of the tabs, each of which leads somewhere; which one is shown is marked once."""
    [nav] = re.findall(r'<nav class="study-tabs".*?</nav>', page, re.DOTALL)
    assert nav.count("aria-current") == 1
    return re.findall(r'<a href="/studies/trial/[^"]*"[^>]*>([^<]*)</a>', nav)


def answer(study: ReaderStudy, reader: User, n: int) -> None:
    """The first cases of this reader are answered."""
    enrolment = study.enrolments.get(reader=reader)
    for place in places_of(enrolment)[:n]:
        Reading.objects.create(
            enrolment=enrolment, case=place.case, arm=place.order.arm, presented=place, opened_at=NOON, closed_at=NOON
        )


def test_without_a_bank_the_list_says_what_comes_first(coordinator: Client) -> None:
    page = coordinator.get("/studies/").content.decode()
    assert "no question bank" in page
    assert 'href="/banks/import/"' in page


def test_the_list_shows_state_cases_readers_and_progress(coordinator: Client, rita: User, remo: User) -> None:
    study = make_study("Trial", n_cases=3)
    enrol(study, rita)
    enrol(study, remo)
    answer(study, rita, 2)
    [line] = coordinator.get("/studies/").context["lines"]
    assert (line.n_cases, line.n_readers, line.n_done, line.n_total) == (3, 2, 2, 6)
    page = markup(coordinator.get("/studies/"))
    assert '<span class="tag good">open</span>' in page
    assert "2 of 6" in page


def test_who_left_counts_in_nothing(coordinator: Client, rita: User) -> None:
    study = make_study("Trial", n_cases=3)
    enrol(study, rita)
    answer(study, rita, 2)
    study.enrolments.update(withdrawn_at=NOON)
    [line] = coordinator.get("/studies/").context["lines"]
    assert (line.n_readers, line.n_done, line.n_total) == (0, 0, 0)


def test_readings_that_were_made_elsewhere_count(coordinator: Client, cora: User) -> None:
    study = make_study("Trial", n_cases=3)
    content = b"reader,case,option,state\nR1,1,A,answered\nR1,2,B,answered\n"
    assert import_responses(study, name="elsewhere.csv", content=content, actor=cora, at=NOON).stored
    [line] = coordinator.get("/studies/").context["lines"]
    assert (line.n_readers, line.n_done, line.n_total) == (1, 2, 3)


def test_archived_studies_are_a_list_of_their_own(coordinator: Client) -> None:
    study = make_study("Trial", state=StudyState.CLOSED, archived_at=NOON)
    assert coordinator.get("/studies/").context["lines"] == []
    [line] = coordinator.get("/studies/?archived").context["lines"]
    assert line.study == study


def test_who_sees_which_studies(client: Client, cora: User, ada: User) -> None:
    trial, other = make_study("Trial"), make_study("Other")
    ruth = study_coordinator(other)
    for person, slugs in ((cora, {"trial", "other"}), (ada, {"trial", "other"}), (ruth, {"other"})):
        client.force_login(person)
        assert {line.study.slug for line in client.get("/studies/").context["lines"]} == slugs
    enrol(trial, cora)
    client.force_login(cora)
    assert [line.study for line in client.get("/studies/").context["lines"]] == [other]
    assert client.get("/studies/trial/").status_code == 404


@pytest.mark.parametrize("n", [1, 6])
def test_queries_do_not_grow_with_the_studies(
    coordinator: Client, rita: User, n: int, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(n):
        enrol(make_study(f"Trial{number}"), rita)
    # session, person, roles; count, page, cases, places, readers; readings, of practice, open ones; banks
    with django_assert_num_queries(12):
        coordinator.get("/studies/")


def test_what_a_large_frozen_study_holds_is_counted_once_and_answers_along_an_index(
    rita: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(overview, "MOST_CASES", 4)
    study, draft = make_study(n_cases=3, n_practice=2), make_study("Draft", n_cases=5, frozen_at=None)
    enrolment = enrol(study, rita)
    for block, n in ((Block.PRACTICE, 2), (Block.MAIN, 2)):
        for place in places_of(enrolment, block)[:n]:
            is_open = block == Block.MAIN and place.position == 2
            Reading.objects.create(
                enrolment=enrolment,
                case=place.case,
                arm=place.order.arm,
                presented=place,
                closed_at=None if is_open else NOON,
            )
    for asked in (f"({study.pk}, {draft.pk})", f"({draft.pk})"):
        with CaptureQueriesContext(connection) as queries:
            first, other = lines_of([study, draft])
        assert (first.n_cases, first.n_practice, first.n_done, first.n_total, other.n_cases) == (3, 2, 1, 3, 5)
        assert f'FROM "readerstudy_studycase" WHERE "readerstudy_studycase"."study_id" IN {asked}' in queries[0]["sql"]
        [readings] = [one["sql"] for one in queries if 'FROM "readerstudy_reading" WHERE' in one["sql"]]
        assert "COUNT(*)" in readings, "of a column that the index lacks, each row would be read"
    cache.clear()


def test_the_page_of_a_draft_says_what_comes_next(coordinator: Client, cora: User) -> None:
    make_draft(cora, consent="")
    page = coordinator.get("/studies/trial/")
    assert page.context["next"].url == "/studies/trial/rules/"
    shown = page.content.decode().split("</dialog>")[-1]
    assert shown.count("button primary") + shown.count('class="primary"') == 1
    assert "protocol-hash" not in page.content.decode()


def test_the_page_of_an_open_study(coordinator: Client, ada: User, rita: User) -> None:
    study = make_study("Trial", n_cases=3)
    enrol(study, rita)
    answer(study, rita, 1)
    page = coordinator.get("/studies/trial/").content.decode()
    assert study.protocol_sha256 in page
    assert "1 of 3 answers are in" in page
    assert "Close the study" in page
    assert tabs_of(page) == ["Overview", "Monitor readers", "Models", "Results", "Data"]
    assert "Hidden until the study is closed" in coordinator.get("/studies/trial/data/").content.decode()
    coordinator.force_login(ada)
    page = coordinator.get("/studies/trial/").content.decode()
    assert "Close the study" not in page
    assert tabs_of(page) == ["Overview", "Monitor readers", "Models"]
    assert coordinator.get("/studies/trial/data/").status_code == 403


@pytest.mark.parametrize("page", ["", "watch/", "models/", "results/", "data/", "rules/", "invite/", "import/"])
def test_every_page_of_a_frozen_study_has_its_tabs(coordinator: Client, page: str) -> None:
    make_study("Trial")
    assert len(tabs_of(coordinator.get(f"/studies/trial/{page}").content.decode())) == 5


def test_a_draft_has_only_the_steps_of_its_design(coordinator: Client, cora: User) -> None:
    make_draft(cora)
    page = coordinator.get("/studies/trial/").content.decode()
    assert "study-tabs" not in page
    assert "Steps of the design" in page
    assert "no data before the design is frozen" in coordinator.get("/studies/trial/data/").content.decode()


def test_the_page_of_a_closed_study_begins_with_its_results(
    coordinator: Client, ada: User, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    analysis = analysed_study()
    address = f"/studies/{analysis.study.slug}/"
    page = coordinator.get(address).content.decode()
    assert page.index("No results have been viewed yet") < page.index(">Design</h2>")
    assert "Mean of the readers" not in page
    coordinator.post(f"{address}results/")
    coordinator.get(address)  # the first look of a person is noted
    with django_assert_max_num_queries(19):
        page = coordinator.get(address).content.decode()
    assert page.index("Mean of the readers") < page.index("each model minus the mean") < page.index(">Design</h2>")
    assert f'href="{address}results/{analysis.public_id}/"' in page
    coordinator.force_login(ada)
    assert "Mean of the readers" not in coordinator.get(address).content.decode()


def test_a_closed_study_without_an_analysis_offers_one(coordinator: Client) -> None:
    make_study("Trial", state=StudyState.CLOSED, closed_at=NOON)
    assert "No analysis so far" in coordinator.get("/studies/trial/").content.decode()


def test_the_models_of_a_study(coordinator: Client, client: Client, ada: User) -> None:
    study = analysed_study().study
    page = coordinator.get(f"/studies/{study.slug}/models/").content.decode()
    for run in study.prediction_runs.all():
        assert f'href="/models/runs/{run.public_id}/"' in page
    make_study("Other")
    client.force_login(ada)
    assert "No model answers these cases yet" in client.get("/studies/other/models/").content.decode()


def test_the_page_says_when_the_first_result_was_seen(coordinator: Client) -> None:
    study = make_study("Trial", state=StudyState.CLOSED, closed_at=NOON)
    assert "First result seen" not in coordinator.get("/studies/trial/").content.decode()
    ReaderStudy.objects.filter(pk=study.pk).update(unblinded_at=NOON)
    assert "First result seen</dt><dd>21 Nov 2026, 12:00" in coordinator.get("/studies/trial/").content.decode()


def test_a_deadline_is_shown_in_the_zone_in_which_it_was_meant(coordinator: Client) -> None:
    make_study("Trial", deadline_at=NOON, time_zone="Asia/Tokyo")
    page = coordinator.get("/studies/trial/").content.decode()
    assert "21 Nov 2026, 21:00 (Asia/Tokyo)" in page


def test_names_of_people_are_escaped(coordinator: Client) -> None:
    make_study("Trial", contact="<script>alert(1)</script>")
    assert "<script>alert" not in coordinator.get("/studies/trial/").content.decode()


@pytest.mark.parametrize("n", [3, 9])
def test_the_page_costs_as_much_for_many_cases(
    coordinator: Client, rita: User, n: int, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    study = make_study("Trial", n_cases=n)
    enrol(study, rita)
    # session, person, roles; the study, who reads (twice); cases, practice, readers, answers, places; sets, arms, names
    with django_assert_num_queries(17):  # one of them how many cases have a prior exam
        coordinator.get("/studies/trial/")


def test_making_a_draft(coordinator: Client, cora: User) -> None:
    study = make_draft(cora)
    assert coordinator.get("/studies/new/").status_code == 200
    answer = coordinator.post("/studies/new/", {"name": LONG[:200], "bank": study.bank.slug})
    made = ReaderStudy.objects.exclude(pk=study.pk).get()
    assert answer.url == f"/studies/{made.slug}/cases/"  # type: ignore[attr-defined]
    assert (made.state, made.created_by, made.arms.count(), made.cases.count()) == (StudyState.DRAFT, cora, 1, 0)


@pytest.mark.parametrize(
    ("name", "bank", "field"), [("", "bank", "name"), ("Trial", "bank", "name"), ("New", "none", "bank")]
)
def test_a_draft_needs_a_free_name_and_a_bank(
    coordinator: Client, cora: User, name: str, bank: str, field: str
) -> None:
    make_draft(cora)
    answer = coordinator.post("/studies/new/", {"name": name, "bank": bank})
    assert answer.status_code == 422
    assert list(answer.context["form"].errors) == [field]
    assert ReaderStudy.objects.count() == 1


def test_without_a_bank_no_study_is_made(coordinator: Client) -> None:
    assert "there is none yet" in coordinator.get("/studies/new/").content.decode()


def test_the_home_page_lists_studies_under_way(coordinator: Client, rita: User) -> None:
    study = make_study("Trial", n_cases=3)
    enrol(study, rita)
    answer(study, rita, 1)
    page = coordinator.get("/").content.decode()
    assert "“<bdi>Trial</bdi>”: 1 of 3 answers are in." in page
    assert 'class="button primary" href="/studies/trial/watch/"' in page
    assert 'href="/studies/"' in page


def test_a_study_with_nothing_to_do_asks_for_nothing(coordinator: Client) -> None:
    make_study("Trial", state=StudyState.CLOSED)
    page = coordinator.get("/").content.decode()
    assert "Trial" in page
    assert 'class="button primary" href="/studies/trial/"' not in page


def test_readers_do_not_find_their_study_among_those_they_look_after(client: Client, rita: User) -> None:
    enrol(make_study("Trial"), rita)
    client.force_login(rita)
    assert "/studies/" not in client.get("/").content.decode()


def test_a_study_says_of_which_cases_the_bank_has_a_newer_wording(coordinator: Client, cora: User) -> None:
    study = make_study("Trial", n_cases=3)
    page = coordinator.get("/studies/trial/").content.decode()
    assert "newer wording" not in " ".join(page.split())
    question = study.cases.order_by("number")[0].revision.question
    before = study.cases.order_by("number")[0].revision.stem
    wording = replace(wording_of(current_revision(question)), stem="Which of these is absent on both views?")
    revise(question, wording, "Two options fit.", based_on=1, actor=cora, at=NOON)
    page = " ".join(coordinator.get("/studies/trial/").content.decode().split())
    assert "Of 1 case the bank has a newer wording. This study keeps the one with which it was made." in page
    assert study.cases.order_by("number")[0].revision.stem == before


@pytest.fixture
def as_ada(client: Client, ada: User) -> Client:
    client.force_login(ada)
    return client


def roles_shown(client: Client, person: User) -> list[str]:
    """What the list and the page of a person say of their roles."""
    in_list = client.get(f"/people/?q={person.name}").content.decode().partition('<td class="roles">')[2]
    on_page = client.get(f"/people/{person.pk}/").content.decode().partition("<h2>Roles</h2>")[2]
    return [in_list.partition("</td>")[0], on_page.partition("<h3>")[0]]


def test_a_reader_of_a_study_is_named_as_one(as_ada: Client) -> None:
    nina = make_person("Nina")
    enrol(make_study("Trial"), nina)
    for shown in roles_shown(as_ada, nina):
        assert 'reader · <a href="/studies/trial/"><bdi>Trial</bdi></a>' in shown
        assert "none" not in shown.lower()
    Enrolment.objects.update(withdrawn_at=NOON)
    for shown in roles_shown(as_ada, nina):
        assert "Trial" not in shown
        assert "none" in shown.lower()


def test_so_is_who_coordinates_one_study_alone(as_ada: Client, cora: User) -> None:
    nina = make_person("Nina")
    StudyRole.objects.create(
        study=make_study("Trial", state=StudyState.DRAFT), user=nina, granted_by=cora, granted_at=NOON
    )
    for shown in roles_shown(as_ada, nina):
        assert "coordinator of a study · " in shown
        assert "none" not in shown.lower()
    ReaderStudy.objects.update(deleted_at=NOON)  # in the bin
    assert all("Trial" not in shown for shown in roles_shown(as_ada, nina))


# --- next steps ------------------------------------------------------------------------------------
TEXTS = {"consent": "I agree.", "instructions": "Read.", "contact": "Cora"}
READ = {"n_cases": 3, "n_readers": 1, "n_total": 3}
UNSEEN = "No results have been viewed yet: 3 of 3 answers are in."
STEPS: list[tuple[StudyState, dict[str, Any], dict[str, Any], str, str]] = [
    (StudyState.DRAFT, {}, {}, "Choose the cases first: everything else depends on them.", "study-cases"),
    (StudyState.DRAFT, {}, {"n_cases": 3}, "Readers need a consent text, instructions and a contact.", "study-rules"),
    (StudyState.DRAFT, TEXTS, {"n_cases": 3}, "Walk through as a reader, then freeze the design.", "study-freeze"),
    (StudyState.FROZEN, {}, READ, "The design is frozen. Readers can read as soon as the study is open.", "study-open"),
    (
        StudyState.FROZEN,
        {},
        {**READ, "n_done": 3, "is_read_elsewhere": True},
        "No results have been viewed yet: 3 of 3 answers are in.",
        "study",
    ),
    (StudyState.FROZEN, {"unblinded_at": NOON}, {**READ, "n_done": 3, "is_read_elsewhere": True}, "", ""),
    (StudyState.OPEN, {}, {"n_cases": 3}, "The study is open, and nobody reads in it yet.", "study-invite"),
    (StudyState.OPEN, {}, {**READ, "n_done": 1}, "1 of 3 answers are in.", "study-watch"),
    (StudyState.OPEN, {}, {**READ, "n_done": 3}, "All 3 answers are in: close the study.", "study-close"),
    (StudyState.CLOSED, {}, {**READ, "n_done": 2}, "No results have been viewed yet: 2 of 3 answers are in.", "study"),
    (StudyState.CLOSED, {"unblinded_at": NOON}, {**READ, "n_done": 2}, "", ""),
    (StudyState.CLOSED, {}, READ, "", ""),
    (
        StudyState.ANALYSED,
        {},
        {**READ, "n_done": 3},
        "No results have been viewed yet: 3 of 3 answers are in.",
        "study",
    ),
    (StudyState.ANALYSED, {"unblinded_at": NOON}, {**READ, "n_done": 3}, "", ""),
]


@pytest.mark.parametrize(("state", "fields", "numbers", "sentence", "url_name"), STEPS)
def test_each_state_of_a_study(
    state: StudyState, fields: dict[str, Any], numbers: dict[str, Any], sentence: str, url_name: str
) -> None:
    from django.urls import reverse

    study = ReaderStudy(name="Trial", slug="trial", state=state, **fields)
    given = {"n_cases": 0, "n_practice": 0, "n_readers": 0, "n_done": 0, "n_total": 0} | numbers
    step = next_of_study(StudyLine(study, **given))
    assert (step.sentence if step else "") == sentence
    assert (step.url if step else "") == (reverse(url_name, args=["trial"]) if url_name else "")
    study.archived_at = NOON
    assert next_of_study(StudyLine(study, **given)) is None


def test_no_state_of_a_study_is_left_out() -> None:
    assert {state for state, *_rest in STEPS} == set(StudyState)


def test_a_study_that_was_read_elsewhere_does_not_wait_to_be_opened(coordinator: Client, cora: User) -> None:
    study = make_study("Trial", n_cases=3, state=StudyState.FROZEN)
    content = b"reader,case,option,state\nR1,1,A,answered\nR1,2,B,answered\nR1,3,B,answered\n"
    assert import_responses(study, name="elsewhere.csv", content=content, actor=cora, at=NOON).stored
    sentence = "No results have been viewed yet: 3 of 3 answers are in."
    home, page = markup(coordinator.get("/")), markup(coordinator.get("/studies/trial/"))
    assert sentence in home.split('<section class="panel next"')[1]
    assert "as soon as the study is open" not in page


def test_home_and_the_page_of_a_study_say_the_same(coordinator: Client) -> None:
    make_study("Trial")
    for address in ("/", "/studies/trial/"):
        [panel] = markup(coordinator.get(address)).split('<section class="panel next"')[1:]
        assert "The study is open, and nobody reads in it yet." in panel
