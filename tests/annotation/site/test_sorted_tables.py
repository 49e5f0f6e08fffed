"""Tables of several pages are sorted by the server, over all of their pages and at the same cost."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from html import unescape
from typing import Any
from urllib.parse import urlencode

import pytest
from django import forms
from django.forms.renderers import DjangoTemplates
from django.http import QueryDict
from django.template import engines
from django.test import Client
from django.utils.safestring import mark_safe
from django.utils.translation import gettext_lazy
from pytest_django import DjangoAssertNumQueries

from annotation.models import Job, QuestionBank, SamplingPlan, User
from annotation.models.imaging import Upload
from annotation.review.rounds import create_round
from annotation.review.samples import draw_sample
from annotation.site.sorted_tables import Sorting, asked_sorting
from readerstudy.enums import StudyState
from readerstudy.models import ModelEntry
from tests.annotation.review.cases import make_bank, make_revisions
from tests.conftest import make_person
from tests.readerstudy.studies import make_study


def test_the_address_names_the_column_and_the_end() -> None:
    def asked(query: str) -> Sorting:
        return asked_sorting(QueryDict(query), {"task": "task"})

    assert asked("sort=task") == Sorting("task")
    assert asked("sort=-task") == Sorting("task", is_down=True)
    assert [asked(query) for query in ("sort=key", "sort=", "sort=--task", "")] == [Sorting()] * 4
    assert (Sorting("task").next("task"), Sorting("task", is_down=True).next("task")) == ("-task", "task")


SORTED = 'class="sort"'  # only in the heads of such a table


def cells(client: Client, address: str, place: int, **query: Any) -> list[str]:
    """A column of the table over all of its pages."""
    found: list[str] = []
    for page in range(1, 4):
        answer = client.get(address, {**query, "page": page})
        assert answer.status_code == 200
        text = answer.content.decode()
        body = text[text.index("<tbody>", text.index(SORTED)) :]
        rows = re.findall(r"<tr>(.*?)</tr>", body[: body.index("</tbody>")], re.DOTALL)
        for row in rows:
            cell = re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row, re.DOTALL)[place]
            found.append(" ".join(re.sub(r"<[^>]+>", " ", cell).split()))
        if answer.context["page"].paginator.num_pages == page:
            break
    return found


@pytest.fixture
def bank(db: None) -> QuestionBank:
    bank = make_bank("Bank")
    make_revisions(bank, {n: {"difficulty": ["easy", "medium", "hard", ""][n % 4]} for n in range(1, 61)})
    return bank


@pytest.fixture
def plan(bank: QuestionBank, noon: datetime) -> SamplingPlan:
    return draw_sample(bank, name="Sample", per_thousand=1000, actor=None, at=noon)


def test_the_questions_of_a_sample(
    coordinator: Client, plan: SamplingPlan, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    address = f"/samples/{plan.slug}/"
    assert cells(coordinator, address, 1, sort="question") == [
        str(n) for n in range(1, 61)
    ]  # as numbers, over two pages
    assert cells(coordinator, address, 1, sort="-question") == [str(n) for n in range(60, 0, -1)]
    assert cells(coordinator, address, 0) == [str(n) for n in range(1, 61)]
    page = coordinator.get(address, {"sort": "question", "page": "2"}).content.decode()
    assert '<th scope="col" class="number" aria-sort="ascending"><a class="sort" href="?sort=-question">' in page
    assert page.count("aria-sort") == 1
    assert "page=1&amp;sort=question" in page or "sort=question&amp;page=1" in page  # further pages stay in order
    with django_assert_max_num_queries(30) as plain:
        coordinator.get(address)
    with django_assert_max_num_queries(len(plain)):
        coordinator.get(address, {"sort": "-stratum"})


def test_a_short_table_offers_no_sorting(coordinator: Client, bank: QuestionBank, noon: datetime) -> None:
    small = draw_sample(bank, name="Small", per_thousand=100, actor=None, at=noon)
    assert "sort=" not in coordinator.get(f"/samples/{small.slug}/").content.decode()


def test_jobs(
    coordinator: Client, cora: User, noon: datetime, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    other = make_person("Anna")
    for number in range(60):
        by = (cora, other, None)[number % 3]
        title = f"{'job' if number % 2 else 'Job'} {number:02}"
        Job.objects.create(kind="test", title=title, created_by=by, created_at=noon + timedelta(minutes=number))
    titles = [f"{'job' if number % 2 else 'Job'} {number:02}" for number in range(60)]
    assert cells(coordinator, "/jobs/", 0, sort="job") == titles  # small letters among capitals
    assert cells(coordinator, "/jobs/", 0, sort="-when") == titles[::-1]
    who = cells(coordinator, "/jobs/", 2, sort="-who")
    assert who == ["Cora"] * 20 + ["Anna"] * 20 + ["the program"] * 20  # whoever has no name comes last
    with django_assert_max_num_queries(30) as plain:
        coordinator.get("/jobs/")
    with django_assert_max_num_queries(len(plain)):
        coordinator.get("/jobs/", {"sort": "who"})


def test_uploads_people_and_models(client: Client, cora: User, ada: User, noon: datetime) -> None:
    for number in range(35):
        at = noon + timedelta(minutes=number)
        Upload.objects.create(created_by=cora, created_at=at, purpose="images", n_files=(number * 11) % 35)
        make_person(f"Person {(number * 3) % 35:02}".replace(" ", ""))
        ModelEntry.objects.create(name=f"M{number}", version=f"{(number * 11) % 35:02}", created_at=noon)
    client.force_login(cora)
    assert cells(client, "/uploads/", 3, sort="-files") == [str(n) for n in range(34, -1, -1)]
    assert cells(client, "/models/", 1, sort="version") == [f"{n:02}" for n in range(35)]
    client.force_login(ada)
    addresses = cells(client, "/people/", 1, sort="email")
    assert (addresses, len(addresses)) == (sorted(addresses), 37)
    found = client.get("/people/", {"q": "Person", "sort": "-name"}).content.decode()
    assert "?q=Person&amp;sort=name" in found  # the search stays


def test_cases_of_a_study_by_difficulty(
    coordinator: Client, bank: QuestionBank, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    study = make_study(n_cases=36, state=StudyState.FROZEN)
    for number, case in enumerate(study.cases.order_by("number").select_related("revision")):
        case.revision.difficulty = ("hard", "", "easy", "medium")[number % 4]
        case.revision.save(update_fields=["difficulty"])
    address = f"/studies/{study.slug}/cases/"
    found = cells(coordinator, address, -1, sort="difficulty")
    assert list(dict.fromkeys(found)) == ["easy", "medium", "hard", "unknown"]
    assert cells(coordinator, address, 0, sort="-case")[:2] == ["36", "35"]
    with django_assert_max_num_queries(40) as plain:
        coordinator.get(address)
    with django_assert_max_num_queries(len(plain)):
        coordinator.get(address, {"sort": "task"})


def test_the_questions_of_a_bank(
    coordinator: Client, bank: QuestionBank, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    by_difficulty = bank_column(coordinator, 6, sort="difficulty")
    assert by_difficulty == ["easy"] * 15 + ["medium"] * 15 + ["hard"] * 15 + ["unknown"] * 15
    assert bank_column(coordinator, 2, sort="-number") == [str(n) for n in range(60, 0, -1)]
    assert set(bank_column(coordinator, 6, sort="-number", difficulty="hard")) == {"hard"}
    page = coordinator.get("/banks/bank/", {"sort": "-number"}).content.decode()
    assert '<th scope="col" class="number" aria-sort="descending"><a class="sort" href="?sort=number">' in page
    with django_assert_max_num_queries(40) as plain:
        coordinator.get("/banks/bank/")
    with django_assert_max_num_queries(len(plain)):
        coordinator.get("/banks/bank/", {"sort": "task"})


def bank_column(client: Client, place: int, **query: Any) -> list[str]:
    """Over the pages to which "Next" leads."""
    found: list[str] = []
    address = "/banks/bank/?" + urlencode(query)
    while address:
        text = client.get(address).content.decode()
        body = text[text.index("<tbody>", text.index(SORTED)) :]
        for row in re.findall(r"<tr>(.*?)</tr>", body[: body.index("</tbody>")], re.DOTALL):
            cell = re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row, re.DOTALL)[place]
            found.append(" ".join(re.sub(r"<[^>]+>", " ", cell).split()))
        further = re.search(r'rel="next" href="([^"]+)"', text)
        address = "/banks/bank/" + unescape(further[1]) if further else ""
    return found


def test_rounds_and_studies(
    coordinator: Client, cora: User, bank: QuestionBank, plan: SamplingPlan, noon: datetime
) -> None:
    for number in range(31):
        create_round(plan, name=f"Round {number:02}", reviewers=[], actor=cora, at=noon)
        make_study(f"Study{number:02}", n_cases=1)
    names = cells(coordinator, "/rounds/", 0, sort="-round")
    assert (names, len(names)) == (sorted(names, reverse=True), 31)
    names = cells(coordinator, "/studies/", 0, sort="study")
    assert names == [f"Study{number:02}" for number in range(31)]


# --- links to the parts of a long page, by its headings ---


def rendered(body: str, **context: object) -> str:
    template = engines["django"].from_string("{% on_this_page %}" + body + "{% endon_this_page %}")
    return str(template.render(context))


def test_a_page_of_three_parts_begins_with_links_to_them() -> None:
    page = rendered(
        '<h2 id="first-title">Left &amp; right</h2><h3>No part</h3><h2>{{ name }}</h2>'
        '<div class="head"><h2 class="wide" id="last" data-short="End">The <bdi>long</bdi> end</h2></div>',
        name="<b>Hostile</b>",
    )
    nav, rest = page.split("</nav>")
    assert re.findall(r'<a href="#([^"]+)">([^<]*)</a>', nav) == [
        ("first-title", "Left &amp; right"),
        ("on-page-2", "&lt;b&gt;Hostile&lt;/b&gt;"),
        ("last", "End"),
    ]
    assert all(f'id="{name}"' in rest for name in ("first-title", "on-page-2", "last"))


def test_a_short_page_has_none() -> None:
    body = '<h2 id="one">One</h2><h2 class="print-only">Bank</h2><h2>Two</h2>'
    assert rendered(body) == body


# --- lists to choose from: the text of Django's templates, without a template for each option ---


ROUGH = [("", "all"), ("<\"&'>", "<b>\"&'"), (7, gettext_lazy("Date")), ("s", mark_safe("<i>kept</i>"))]


ATTRIBUTES: list[dict[str, Any]] = [{}, {"id": 'x"&', "required": True, "disabled": False, "size": 3, "lang": None}]


@pytest.mark.parametrize("choices", [[], ROUGH, [("plain", "Plain"), ("A & B", ROUGH)]])
@pytest.mark.parametrize("attributes", ATTRIBUTES)
@pytest.mark.parametrize("form", [forms.Select, forms.SelectMultiple])
def test_a_list_is_written_as_django_writes_it(
    form: type[forms.Select], choices: list[Any], attributes: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    widget = form(attrs=attributes, choices=choices)
    wanted = widget.render("a<b", ["7"], renderer=DjangoTemplates()).splitlines()
    monkeypatch.setattr(DjangoTemplates, "render", None)
    assert widget.render("a<b", ["7"]).splitlines() == [line for line in wanted if line]
