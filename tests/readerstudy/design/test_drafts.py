"""Arms, rules and readers of a draft; and how they look once the design is frozen."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

import pytest
from django.test import Client
from msgspec.structs import asdict, replace

from annotation.models import User
from readerstudy.design.freezing import freeze_study
from readerstudy.design.kernels.analysis_plan import FIXED_READERS, MADE, AnalysisPlan, read_analysis
from readerstudy.design.kernels.documents import QUIET_MS, Rules, read_rules
from readerstudy.enrolment.participation import NAMES_SHOWN
from readerstudy.models import Arm, ReaderStudy
from tests.conftest import NOON

STEPS = ["arms", "rules", "readers"]


RULES = Rules(quiet_ms=QUIET_MS)  # of a new study


def rules_sent(**changes: Any) -> dict[str, Any]:
    """What the browser sends for the page of rules as it is first shown, with changes."""
    rules, analysis = RULES.as_json(), AnalysisPlan().as_json()
    sent = {name: value for name, value in {**rules, **analysis}.items() if value not in (None, False, [])}
    sent.pop("several_per_patient", None)
    texts = {"consent": "You agree.", "instructions": "Choose.", "contact": "Cora", "time_zone": "UTC"}
    return {**{name: "on" if value is True else value for name, value in sent.items()}, **texts, **changes}


def test_an_administrator_only_looks(client: Client, draft: ReaderStudy, ada: User) -> None:
    client.force_login(ada)
    for step in (*STEPS, "cases", "forecast"):
        assert "<form" not in client.get(f"/studies/trial/{step}/").content.decode().partition("<main")[2], step


def test_the_step_bar_says_where_one_is(coordinator: Client, draft: ReaderStudy) -> None:
    page = coordinator.get("/studies/trial/rules/")
    assert [step.name for step in page.context["steps"] if step.is_current] == ["study-rules"]
    assert page.content.decode().count('aria-current="step"') == 1
    done = [step.name for step in page.context["steps"] if step.is_done]
    assert done == ["study-cases", "study-arms", "study-rules", "study-readers"]


def test_the_arm_is_stored(coordinator: Client, draft: ReaderStudy) -> None:
    answer = coordinator.post("/studies/trial/arms/", {"information": "age_sex", "aid": "none"})
    assert answer.url == "/studies/trial/rules/"  # type: ignore[attr-defined]
    assert Arm.objects.get().information == "age_sex"


@pytest.mark.parametrize(
    "sent", [{"information": "all", "aid": "none"}, {"information": "none", "aid": "model"}, {"aid": "none"}]
)
def test_an_arm_that_cannot_be_is_refused(coordinator: Client, draft: ReaderStudy, sent: dict[str, str]) -> None:
    answer = coordinator.post("/studies/trial/arms/", sent)
    assert answer.status_code == 422
    assert Arm.objects.get().information == "none"


def test_a_model_as_aid_is_shown_and_cannot_be_chosen(coordinator: Client, draft: ReaderStudy) -> None:
    page = coordinator.get("/studies/trial/arms/").content.decode()
    assert 'value="model"' in page
    assert "disabled" in page.partition('value="model"')[2][:120]


def test_rules_texts_and_analysis_are_stored_together(coordinator: Client, draft: ReaderStudy) -> None:
    sent = rules_sent(
        time_limit_s="90",
        confidence="on",
        hidden_tools=["line", "ratio"],
        least_width="1200",
        least_height="700",
        margin="0.05",
        margin_reason="what two radiologists differ by",
        pairs="Model A | each reader\r\n\r\nR1|R2",
        deadline="2127-01-31T18:00",
        time_zone="Asia/Tokyo",
    )
    answer = coordinator.post("/studies/trial/rules/", sent)
    assert answer.status_code == 302, answer.context["form"].errors
    assert answer.url == "/studies/trial/readers/"  # type: ignore[attr-defined]
    draft.refresh_from_db()
    rules = read_rules(draft.rules)
    assert (rules.time_limit_s, rules.confidence, rules.slips) == (90, True, True)
    assert (rules.hidden_tools, rules.least_width, rules.least_height) == (("line", "ratio"), 1200, 700)
    assert read_analysis(draft.analysis).margin == 0.05
    assert read_analysis(draft.analysis).margin_reason == "what two radiologists differ by"
    assert read_analysis(draft.analysis).pairs == (("Model A", "each reader"), ("R1", "R2"))
    assert draft.deadline_at == datetime(2127, 1, 31, 9, 0, tzinfo=UTC)
    assert (draft.consent, draft.time_zone) == ("You agree.", "Asia/Tokyo")
    page = coordinator.get("/studies/trial/rules/").content.decode()
    assert 'value="2127-01-31T18:00"' in page
    assert "Model A | each reader\nR1 | R2</textarea>" in page


def test_the_page_as_it_is_shown_changes_nothing(coordinator: Client, draft: ReaderStudy) -> None:
    coordinator.post("/studies/trial/rules/", rules_sent())
    draft.refresh_from_db()
    assert read_rules(draft.rules) == RULES
    assert read_analysis(draft.analysis) == AnalysisPlan()


def test_names_of_readers_are_shown_on_request_and_the_dry_run_shows_what_readers_agree_to(
    coordinator: Client, draft: ReaderStudy
) -> None:
    coordinator.post("/studies/trial/rules/", rules_sent(reader_names="on"))
    draft.refresh_from_db()
    assert read_rules(draft.rules) == replace(RULES, reader_names=True)
    assert NAMES_SHOWN in coordinator.get("/studies/trial/dry-run/").content.decode()
    coordinator.post("/studies/trial/rules/", rules_sent())
    draft.refresh_from_db()
    assert read_rules(draft.rules) == RULES
    assert NAMES_SHOWN not in coordinator.get("/studies/trial/dry-run/").content.decode()


def test_what_another_step_decides_stays(coordinator: Client, draft: ReaderStudy) -> None:
    draft.rules = Rules(several_per_patient=True).as_json()
    draft.save()
    coordinator.post("/studies/trial/rules/", rules_sent(n_ready="5"))
    draft.refresh_from_db()
    assert read_rules(draft.rules) == replace(RULES, several_per_patient=True, n_ready=5)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"n_ready": "11"}, "n_ready"),
        ({"time_limit_s": "1"}, "time_limit_s"),
        ({"time_limit_s": "soon"}, "time_limit_s"),
        ({"least_width": "1200"}, "least_width"),
        ({"margin": "2"}, "margin"),
        ({"margin": "nan"}, "margin"),
        ({"margin": "0.05"}, "margin_reason"),
        ({"inference": "Bayes"}, "inference"),
        ({"inference": "other"}, "inference_words"),
        ({"primary": "as we please"}, "primary"),
        ({"voids": "other", "voids_words": " "}, "voids_words"),
        ({"pairs": "Model A and R1"}, "pairs"),
        ({"pairs": "Model A | R1\nR1 | model a"}, "pairs"),
        ({"hidden_tools": ["hammer"]}, "hidden_tools"),
        ({"time_zone": "Mars/Base"}, "time_zone"),
        ({"deadline": "tomorrow"}, "deadline"),
        ({"deadline": "2020-01-01T10:00"}, "deadline"),
        ({"deadline": "9999-12-31T23:59", "time_zone": "America/New_York"}, "deadline"),
        ({"primary": ""}, "primary"),
        ({"consent": "x" * 20_001}, "consent"),
    ],
)
def test_an_error_stands_beside_its_field_and_nothing_is_stored(
    coordinator: Client, draft: ReaderStudy, changes: dict[str, Any], field: str
) -> None:
    answer = coordinator.post("/studies/trial/rules/", rules_sent(instructions="Other words.", **changes))
    assert answer.status_code == 422
    assert list(answer.context["form"].errors) == [field]
    page = answer.content.decode()
    assert "errorlist" in page
    assert f'href="#id_{field}"' in page
    draft.refresh_from_db()
    assert draft.instructions == "Choose one option."


def test_every_rule_has_a_field_and_a_sentence(coordinator: Client, draft: ReaderStudy) -> None:
    form = coordinator.get("/studies/trial/rules/").context["form"]
    wanted = {*asdict(Rules()), *AnalysisPlan().as_json()} - {"several_per_patient"}  # chosen with the cases
    assert wanted <= set(form.fields)
    assert not [name for name, field in form.fields.items() if not field.help_text]
    shown = [field.name for _title, fields in form.sections() for field in fields]
    assert sorted(shown) == sorted(form.fields)


def test_readers_and_orders_are_stored(coordinator: Client, draft: ReaderStudy) -> None:
    assert coordinator.get("/studies/trial/readers/").context["n_orders"] == 6
    answer = coordinator.post("/studies/trial/readers/", {"n_readers": "5", "n_orders": ""})
    assert answer.url == "/studies/trial/dry-run/"  # type: ignore[attr-defined]
    assert coordinator.get("/studies/trial/readers/").context["n_orders"] == 10
    for wrong in ("0", "501", "", "many"):
        assert coordinator.post("/studies/trial/readers/", {"n_readers": wrong}).status_code == 422
    draft.refresh_from_db()
    assert (draft.n_readers, draft.n_orders) == (5, 0)


@pytest.mark.parametrize("part", list(MADE))
def test_a_part_of_the_plan_in_own_words_is_kept_and_one_that_is_known_is_found(
    coordinator: Client, draft: ReaderStudy, part: str
) -> None:
    address = "/studies/trial/rules/"
    offered = dict(coordinator.get(address).context["form"].fields[part].choices)
    assert list(offered)[-1] == "other"
    assert set(offered) - {"other"} == set(MADE[part])
    coordinator.post(address, rules_sent(**{part: "other", f"{part}_words": "Bayes, as we please"}))
    draft.refresh_from_db()
    assert getattr(read_analysis(draft.analysis), part) == "Bayes, as we please"
    assert coordinator.get(address).context["form"][part].value() == "other"
    known = MADE[part][-1]
    coordinator.post(address, rules_sent(**{part: "other", f"{part}_words": f"{known.capitalize()}."}))
    draft.refresh_from_db()
    assert getattr(read_analysis(draft.analysis), part) == known


def test_the_inference_that_is_proposed_says_so(coordinator: Client, draft: ReaderStudy) -> None:
    page = coordinator.get("/studies/trial/rules/").content.decode()
    assert "These readers (fixed readers, random questions): proposed for 3 readers" in page


def test_a_proposed_inference_follows_the_number_of_readers_and_a_chosen_one_stays(
    coordinator: Client, draft: ReaderStudy
) -> None:
    address = "/studies/trial/readers/"
    assert read_analysis(draft.analysis).inference == FIXED_READERS
    answer = coordinator.post(address, {"n_readers": "6"}, follow=True)
    assert "its inference is now “random readers, random questions”" in answer.content.decode()
    draft.refresh_from_db()
    draft.analysis = AnalysisPlan(inference=FIXED_READERS).as_json()
    draft.save()
    coordinator.post(address, {"n_readers": "8"})
    draft.refresh_from_db()
    assert read_analysis(draft.analysis).inference == FIXED_READERS


def test_a_frozen_design_is_shown_and_does_not_change(coordinator: Client, draft: ReaderStudy, cora: User) -> None:
    draft.analysis = AnalysisPlan(pairs=(("Model A", "R1"),)).as_json()
    draft.save()
    freeze_study(draft, actor=cora, at=NOON)
    assert "Model A | R1" in coordinator.get("/studies/trial/rules/").content.decode()
    for step in STEPS:
        page = coordinator.get(f"/studies/trial/{step}/").content.decode()
        assert "<form" not in page.partition("<main")[2]
        assert draft.protocol_sha256[:12] in page
    sent = {"readers": {"n_readers": "9"}, "arms": {"information": "age_sex", "aid": "none"}, "rules": rules_sent()}
    for step, fields in sent.items():
        answer = coordinator.post(f"/studies/trial/{step}/", fields)
        assert "is frozen and cannot change" in str(answer.context["form"].errors)
    draft.refresh_from_db()
    assert draft.n_readers == 3
    assert Arm.objects.get().information == "none"
    table = coordinator.get("/studies/trial/readers/").context["sets"]
    assert [(one.n_cases, one.n_orders, one.n_taken) for one in table] == [(4, 6, 0)]


def seen_on(page: str) -> str:
    found = re.search(r'name="seen" value="(\w{64})"', page)
    assert found
    return found[1]


def test_two_coordinators_do_not_overwrite_what_the_other_stored(coordinator: Client, draft: ReaderStudy) -> None:
    """The second is told what differs, and keeps what they typed; storing again is their decision."""
    address = "/studies/trial/rules/"
    seen = seen_on(coordinator.get(address).content.decode())
    coordinator.post(address, rules_sent(consent="One.\r\nTwo.", contact="Cora", seen=seen))
    spoilt = coordinator.post(address, rules_sent(n_ready="99", seen=seen))
    assert seen_on(spoilt.content.decode()) == seen  # an error of another kind does not make it a page that was seen
    answer = coordinator.post(address, rules_sent(consent="One.\r\nTwo.", contact="", n_ready="5", seen=seen))
    page = answer.content.decode()
    assert answer.status_code == 422
    assert "they differ in: Cases loaded ahead, Contact." in page
    assert answer.context["form"]["n_ready"].value() == "5"
    draft.refresh_from_db()
    assert (draft.contact, draft.consent.splitlines()) == ("Cora", ["One.", "Two."])
    again = coordinator.post(address, rules_sent(consent="One.", contact="", seen=seen_on(page)))
    assert again.status_code == 302
    draft.refresh_from_db()
    assert draft.contact == ""


@pytest.mark.parametrize(
    ("step", "first", "second", "differs"),
    [
        (
            "arms",
            {"information": "age_sex", "aid": "none"},
            {"information": "none", "aid": "none"},
            "Information shown",
        ),
        ("readers", {"n_readers": "4"}, {"n_readers": "5"}, "Readers"),
    ],
)
def test_the_short_steps_hold_it_alike(
    coordinator: Client, draft: ReaderStudy, step: str, first: dict[str, str], second: dict[str, str], differs: str
) -> None:
    address = f"/studies/trial/{step}/"
    seen = seen_on(coordinator.get(address).content.decode())
    assert coordinator.post(address, {**first, "seen": seen}).status_code == 302
    assert coordinator.post(address, {**first, "seen": seen}).status_code == 302  # a double click
    answer = coordinator.post(address, {**second, "seen": seen})
    assert answer.status_code == 422
    assert f"they differ in: {differs}" in answer.content.decode()


def test_a_deadline_in_an_hour_that_comes_twice_is_asked_for(coordinator: Client, draft: ReaderStudy) -> None:
    """In Berlin the clocks go back from 3 to 2 on 26 October 2036; in New York they do not."""
    sent = {"deadline": "2036-10-26T02:30", "time_zone": "Europe/Berlin"}
    answer = coordinator.post("/studies/trial/rules/", rules_sent(**sent))
    assert answer.status_code == 422
    [error] = answer.context["form"].errors["deadline"]
    assert "comes twice in Europe/Berlin" in error
    for later in ({"deadline": "2036-10-26T03:00"}, {"time_zone": "America/New_York"}):
        seen = seen_on(coordinator.get("/studies/trial/rules/").content.decode())
        assert coordinator.post("/studies/trial/rules/", rules_sent(**sent | later, seen=seen)).status_code == 302


def test_a_deadline_in_an_hour_that_the_clocks_skip_is_refused(coordinator: Client, draft: ReaderStudy) -> None:
    """In Berlin the clocks jump from 2 to 3 on 30 March 2036; in New York they do not."""
    sent = {"deadline": "2036-03-30T02:30", "time_zone": "Europe/Berlin"}
    answer = coordinator.post("/studies/trial/rules/", rules_sent(**sent))
    assert answer.status_code == 422
    [error] = answer.context["form"].errors["deadline"]
    assert error == "This time does not exist in Europe/Berlin: the clocks skip it on that day. Choose another."
    draft.refresh_from_db()
    assert draft.deadline_at is None
    sent["time_zone"] = "America/New_York"
    assert coordinator.post("/studies/trial/rules/", rules_sent(**sent)).status_code == 302


def test_a_deadline_in_an_hour_that_comes_twice_is_shown_with_its_offset(
    coordinator: Client, draft: ReaderStudy
) -> None:
    """As a program sends it. In Berlin the clocks go back from 3 to 2 on 26 October 2036."""
    draft.deadline_at, draft.time_zone = datetime(2036, 10, 26, 0, 30, tzinfo=UTC), "Europe/Berlin"
    draft.save()
    shown = "26 Oct 2036, 02:30 (Europe/Berlin, UTC+02:00)"
    for page in ("", "rules/"):
        assert shown in coordinator.get(f"/studies/trial/{page}").content.decode()
