"""The checklist, the freezing, and the protocol as a file."""

from __future__ import annotations

import hashlib
import json
import re

import pytest
from django.test import Client

from annotation.models import AuditEvent
from readerstudy.design.kernels.analysis_plan import AnalysisPlan, is_made
from readerstudy.enums import StudyState
from readerstudy.models import ReaderStudy
from tests.conftest import NOON
from tests.pages import markup

ADDRESS = "/studies/trial/freeze/"


def test_each_problem_leads_to_where_it_is_mended(coordinator: Client, draft: ReaderStudy) -> None:
    draft.cases.all().delete()
    draft.rules = {"practice_pass": 3}
    draft.save()
    draft.arms.update(aid="model")
    draft.bank.archived_at = NOON
    draft.bank.save()
    page = coordinator.get(ADDRESS)
    assert [problem["url"] for problem in page.context["problems"]] == [
        "/banks/bank/",
        "/studies/trial/rules/",
        "/studies/trial/arms/",
        "/studies/trial/cases/",
    ]
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
