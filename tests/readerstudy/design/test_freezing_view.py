"""The checklist, the freezing, the protocol as a file, and its hash on every page of a study."""

from __future__ import annotations

import hashlib
import json
import re

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation.models import AuditEvent, User
from readerstudy.design.kernels.analysis_plan import AnalysisPlan, is_made
from readerstudy.enums import StudyState
from readerstudy.models import Analysis, ReaderStudy
from readerstudy.results.looking import share_results
from tests.conftest import NOON
from tests.pages import markup
from tests.readerstudy.results.made import analysed_study
from tests.readerstudy.studies import enrol, make_study

ADDRESS = "/studies/trial/freeze/"


def test_each_problem_leads_to_where_it_is_mended(coordinator: Client, draft: ReaderStudy) -> None:
    draft.cases.all().delete()
    draft.rules = {"practice_pass": 3}
    draft.save()
    draft.arms.update(aid="model")
    draft.bank.archived_at = NOON
    draft.bank.save()
    page = coordinator.get(ADDRESS)
    steps = [f"/studies/trial/{step}/" for step in ("rules", "arms", "cases")]
    assert [problem["url"] for problem in page.context["problems"]] == ["/banks/bank/", *steps]
    assert "disabled" in page.content.decode().partition("Freeze the design")[0][-60:]
    answer = coordinator.post(ADDRESS, follow=True).content.decode()
    assert "The study has no cases yet." in answer
    draft.refresh_from_db()
    assert draft.state == StudyState.DRAFT


def test_rules_that_cannot_be_read_are_told_as_well(coordinator: Client, draft: ReaderStudy) -> None:
    ReaderStudy.objects.update(rules={"no_such_rule": 1})
    page = coordinator.get(ADDRESS)
    assert page.status_code == 200
    assert "The rules cannot be read" in page.content.decode()


def test_freezing_leads_to_the_study_with_its_hash(coordinator: Client, draft: ReaderStudy) -> None:
    assert coordinator.get(ADDRESS).context["problems"] == []
    assert coordinator.post(ADDRESS).url == "/studies/trial/"  # type: ignore[attr-defined]
    draft.refresh_from_db()
    assert draft.state == StudyState.FROZEN
    for page in ("/studies/trial/", ADDRESS):
        shown = coordinator.get(page).content.decode()
        assert f'value="{draft.protocol_sha256}"' in shown
        assert 'data-copy="protocol-hash"' in shown
    assert "Freeze the design" not in coordinator.get(ADDRESS).content.decode()
    assert "cannot change" in coordinator.post(ADDRESS, follow=True).content.decode()


def test_planned_pairs_are_among_what_is_frozen(coordinator: Client, draft: ReaderStudy) -> None:
    assert "Planned pairs" not in markup(coordinator.get(ADDRESS))
    ReaderStudy.objects.update(analysis={"pairs": [["Model <A>", "each reader"]]})
    for _state in ("draft", "frozen"):
        page = markup(coordinator.get(ADDRESS))
        assert "<bdi>Model &lt;A&gt;</bdi> with <bdi>each reader</bdi>" in page
        coordinator.post(ADDRESS)
    draft.refresh_from_db()
    assert draft.state == StudyState.FROZEN


@pytest.mark.parametrize("change", ["rules", "cases"])
def test_what_somebody_changed_meanwhile_is_not_frozen_unseen(
    coordinator: Client, draft: ReaderStudy, change: str
) -> None:
    def seen() -> str:
        found = re.search(r'name="design" value="(\w{64})"', coordinator.get(ADDRESS).content.decode())
        assert found
        return found[1]

    before = seen()
    if change == "rules":
        ReaderStudy.objects.update(rules={"time_limit_s": 30})
    else:
        draft.cases.get(number=4).delete()
    answer = coordinator.post(ADDRESS, {"design": before}, follow=True)
    assert "Somebody changed the design since you opened this page" in answer.content.decode()
    draft.refresh_from_db()
    assert draft.state == StudyState.DRAFT
    coordinator.post(ADDRESS, {"design": seen()})
    draft.refresh_from_db()
    assert draft.state == StudyState.FROZEN


def test_what_is_allowed_is_said(coordinator: Client, draft: ReaderStudy) -> None:
    ReaderStudy.objects.update(contact="", deadline_at=NOON.replace(year=2020))
    page = coordinator.get(ADDRESS)
    assert page.context["problems"] == []
    assert "No contact is named." in page.content.decode()
    assert "The deadline has passed" in page.content.decode()


def test_the_protocol_is_downloaded_as_it_was_hashed(coordinator: Client, draft: ReaderStudy) -> None:
    assert coordinator.get("/studies/trial/protocol.json").status_code == 404
    coordinator.post(ADDRESS)
    draft.refresh_from_db()
    answer = coordinator.get("/studies/trial/protocol.json")
    assert answer["Content-Type"] == "application/json"
    assert 'filename="trial-protocol.json"' in answer["Content-Disposition"]
    assert hashlib.sha256(answer.content).hexdigest() == draft.protocol_sha256
    assert json.loads(answer.content)["study"] == "Trial"
    assert AuditEvent.objects.get(act="study.protocol_taken").facts == {"protocol_sha256": draft.protocol_sha256}


def test_the_page_says_how_the_plan_is_read_and_what_to_expect(coordinator: Client, draft: ReaderStudy) -> None:
    page = coordinator.get(ADDRESS).content.decode()
    assert "It says nothing about other readers." in page
    assert "Expected 95% CI of a difference: ±" in page
    assert "planned" in page
    draft.analysis = AnalysisPlan(inference="as we please").as_json()
    draft.save()
    page = coordinator.get(ADDRESS).content.decode()
    assert "post hoc." in page
    assert "The program does not know this inference." in page
    draft.analysis = AnalysisPlan().as_json()
    draft.save()
    assert "With fewer than 5 readers the program proposes: fixed readers" in coordinator.get(ADDRESS).content.decode()


def test_a_part_in_own_words_is_said_before_freezing_and_stays_post_hoc(
    coordinator: Client, draft: ReaderStudy
) -> None:
    draft.analysis = AnalysisPlan(late_answers="half a point", voids="Left out WHEN decided ...").as_json()
    draft.save()
    page = coordinator.get(ADDRESS).content.decode()
    assert "Every test of this plan will be post hoc." in page
    assert "in words of their own: Scoring of late answers, Excluded cases." in page
    assert "An answer given after the time limit counts as incorrect" in page
    coordinator.post(ADDRESS)
    draft.refresh_from_db()
    assert json.loads(draft.protocol)["analysis"]["own_words"] == ["late_answers", "voids"]
    assert not is_made(draft.analysis)
    assert "Every test of this plan will be post hoc." in coordinator.get(ADDRESS).content.decode()


def test_a_margin_without_a_reason_is_not_frozen(coordinator: Client, draft: ReaderStudy) -> None:
    draft.analysis = AnalysisPlan(margin=0.05).as_json()
    draft.save()
    assert "The margin has no reason. Say in one line why" in coordinator.get(ADDRESS).content.decode()
    coordinator.post(ADDRESS)
    draft.refresh_from_db()
    assert draft.state == StudyState.DRAFT
    draft.analysis = AnalysisPlan(margin=0.05, margin_reason="what two readers differ by").as_json()
    draft.save()
    page = coordinator.get(ADDRESS).content.decode()
    assert "5.0 percentage points: what two readers differ by" in page


# --- the hash on every page ------------------------------------------------------------------------
OF_A_STUDY = (
    *("study", "study-cases", "study-arms", "study-rules", "study-readers", "study-dry-run", "study-freeze"),
    *("study-watch", "study-invite", "study-import", "study-rereview", "study-models", "study-data"),
)
OF_AN_ANALYSIS = (
    *("study-analysed", "study-agreement", "study-categories", "study-items", "study-times", "study-report"),
    "study-share",
)
SHARED = ("shared-analysed", "shared-agreement", "shared-categories", "shared-times")


@pytest.fixture
def analysis() -> Analysis:
    made = analysed_study()
    ReaderStudy.objects.update(unblinded_at=NOON)
    made.study.refresh_from_db()
    return made


def without(client: Client, pages: list[str], sha256: str) -> list[str]:
    """The pages on which the hash does not stand."""
    answers = {page: client.get(page) for page in pages}
    assert {page: answer.status_code for page, answer in answers.items() if answer.status_code != 200} == {}
    return [page for page, answer in answers.items() if sha256[:12] not in answer.content.decode()]


@pytest.mark.django_db
def test_on_the_pages_of_coordinators(coordinator: Client, analysis: Analysis) -> None:
    study = analysis.study
    pages = [reverse(name, args=[study.slug]) for name in OF_A_STUDY]
    assert without(coordinator, pages, study.protocol_sha256) == []


@pytest.mark.django_db
def test_a_frozen_design_asks_for_no_text_any_more(coordinator: Client, draft: ReaderStudy) -> None:
    ReaderStudy.objects.update(instructions="")
    assert "Write it" in coordinator.get("/studies/trial/dry-run/").content.decode()
    ReaderStudy.objects.update(state=StudyState.OPEN)
    assert "Write it" not in coordinator.get("/studies/trial/dry-run/").content.decode()


def test_on_the_page_of_one_reader_and_of_interim_results(coordinator: Client, rita: User) -> None:
    study = make_study(state=StudyState.OPEN)
    pages = [reverse("study-reader", args=[study.slug, enrol(study, rita).public_id])]
    assert without(coordinator, pages, study.protocol_sha256) == []
    reason = {"reason": "the ethics board asks for the numbers"}
    interim = coordinator.post(reverse("study-interim", args=[study.slug]), reason)
    assert interim.status_code == 200
    assert study.protocol_sha256[:12] in interim.content.decode()


@pytest.mark.django_db
def test_on_the_pages_of_results_that_of_the_study_that_was_analysed(
    client: Client, coordinator: Client, analysis: Analysis, cora: User
) -> None:
    sha256 = json.loads(analysis.result)["protocol_sha256"]
    args = [analysis.study.slug, analysis.public_id]
    pages = [reverse(name, args=args) for name in OF_AN_ANALYSIS]
    assert without(coordinator, [*pages, reverse("study-pair", args=[*args, 0, 2])], sha256) == []
    token = share_results(analysis, days=7, note="", actor=cora, at=timezone.now()).token
    client.logout()
    assert without(client, [reverse(name, args=[token]) for name in SHARED], sha256) == []
