"""The page of the forecast: assumptions are stored with who made them, or taken from a finished study."""

from __future__ import annotations

import json
from typing import Any

from django.test import Client

from annotation.models import User
from readerstudy.design.creating import plan_of
from readerstudy.design.drafting import update_assumptions
from readerstudy.design.freezing import freeze_study
from readerstudy.design.kernels.analysis_plan import read_analysis
from readerstudy.design.kernels.assumptions import Assumptions
from readerstudy.design.kernels.plan import plan_document, read_plan
from readerstudy.models import ReaderStudy
from tests.conftest import NOON
from tests.pages import markup
from tests.readerstudy.design.drafts import study_coordinator
from tests.readerstudy.results.made import analysed_study
from tests.readerstudy.studies import make_study

ADDRESS = "/studies/trial/forecast/"


def sent(**changes: Any) -> dict[str, Any]:
    values = Assumptions().as_json()
    return {name: value for name, value in values.items() if not isinstance(value, str)} | changes


def assumed(draft: ReaderStudy) -> Assumptions | None:
    draft.refresh_from_db()
    return read_analysis(draft.analysis).assumptions


def test_assumptions_are_stored_with_who_made_them(coordinator: Client, draft: ReaderStudy, cora: User) -> None:
    answer = coordinator.post(ADDRESS, sent(delta="0.12", models="8"))
    assert answer.url == ADDRESS  # type: ignore[attr-defined]
    found = assumed(draft)
    assert found is not None
    assert (found.delta, found.models, found.made_by, found.taken_from) == (0.12, 8, str(cora), "")
    page = markup(coordinator.get(ADDRESS))
    assert "true difference 12.0 percentage points" in page
    assert "Power (first of 8)" in page
    assert "at the first step of Holm over 8 models" in page
    assert f"By {cora}" in page


def test_assumptions_that_contradict_each_other_are_refused_beside_the_figure_to_change(
    coordinator: Client, draft: ReaderStudy
) -> None:
    answer = coordinator.post(ADDRESS, sent(discordant_readers="0.6"))
    assert answer.status_code == 422
    assert "at least 31 % for model and reader" in str(answer.context["form"].errors["discordant_model_reader"])
    assert coordinator.post(ADDRESS, sent(sd_reader="much")).status_code == 422
    assert assumed(draft) is None


def test_the_four_figures_of_a_finished_study(coordinator: Client, draft: ReaderStudy) -> None:
    """Readers BBBA and BBCA, the good model BBBB, key B: the figures are counted by hand."""
    finished = analysed_study("Finished").study
    assert coordinator.get(f"{ADDRESS}?from=finished").status_code == 404  # nobody has seen a result: nor here
    assert "Finished" not in coordinator.get(ADDRESS).content.decode()
    ReaderStudy.objects.filter(pk=finished.pk).update(unblinded_at=NOON)
    assert "Finished" in coordinator.get(ADDRESS).content.decode()
    models = coordinator.get(f"{ADDRESS}?from=finished").context["source"].models
    place = [one.model for one in models].index("Good")
    good = models[place]
    assert (good.discordant_model_reader, good.discordant_readers, good.delta) == (0.375, 0.25, 0.375)
    assert good.sd_reader == 0.0  # the accuracies 0.75 and 0.5 are no further apart than chance makes them
    filled = f"{ADDRESS}?from=finished&model={place}"
    form = coordinator.get(filled).context["form"]
    assert (form["delta"].value(), form["models"].value()) == (0.375, 1)
    assert assumed(draft) is None
    values = {name: form[name].value() for name in form.fields}
    assert coordinator.post(filled, values).status_code == 302
    found = assumed(draft)
    assert found is not None
    assert found.taken_from == f"Good and the readers of “Finished”, analysis of {NOON:%Y-%m-%d}"
    coordinator.post(ADDRESS, values | {"models": "3"})
    again = assumed(draft)
    assert again is not None
    assert (again.models, again.taken_from) == (3, found.taken_from)
    coordinator.post(ADDRESS, values | {"delta": "0.3"})
    by_hand = assumed(draft)
    assert by_hand is not None
    assert by_hand.taken_from == ""
    assert coordinator.get(f"{ADDRESS}?from=finished&model=9").status_code == 404


def test_figures_come_only_from_studies_that_the_person_coordinates(client: Client, draft: ReaderStudy) -> None:
    finished = analysed_study("Finished").study
    ReaderStudy.objects.filter(pk=finished.pk).update(unblinded_at=NOON)
    client.force_login(study_coordinator(draft))
    assert "Finished" not in client.get(ADDRESS).content.decode()
    assert client.get(f"{ADDRESS}?from=finished").status_code == 404


def test_the_protocol_keeps_forecast_assumptions_and_who_made_them(draft: ReaderStudy, cora: User) -> None:
    update_assumptions(draft, Assumptions(delta=0.12), actor=cora, at=NOON)
    freeze_study(draft, actor=cora, at=NOON)
    kept = json.loads(draft.protocol)["forecast"]
    assert (kept["assumptions"]["delta"], kept["assumptions"]["made_by"]) == (0.12, str(cora))
    assert not kept["are_defaults"]
    assert (kept["n_readers"], kept["n_cases"]) == (3, 4)
    assert [one["inference"] for one in kept["inferences"]] == [
        "fixed readers, random questions",
        "random readers, random questions",
    ]
    assert 0 < kept["inferences"][0]["power"] < 1
    assert not {"tasks", "overall", "key"} & set(kept)


def test_defaults_are_those_of_who_freezes(draft: ReaderStudy, cora: User) -> None:
    freeze_study(draft, actor=cora, at=NOON)
    kept = json.loads(draft.protocol)["forecast"]
    assert kept["are_defaults"]
    assert kept["assumptions"]["made_by"] == str(cora)
    assert "assumptions" not in json.loads(draft.protocol)["analysis"]


def test_the_assumptions_go_out_with_a_plan_and_come_back(draft: ReaderStudy, cora: User) -> None:
    update_assumptions(draft, Assumptions(delta=0.12, taken_from="a study"), actor=cora, at=NOON)
    plan = plan_of(draft)
    assert plan.analysis.assumptions is not None
    assert read_plan(json.loads(json.dumps(plan_document(plan)))) == plan


def test_the_other_steps_leave_the_assumptions_alone(coordinator: Client, draft: ReaderStudy, cora: User) -> None:
    update_assumptions(draft, Assumptions(delta=0.12), actor=cora, at=NOON)
    page = coordinator.get("/studies/trial/rules/").context["form"]
    fields = {name: page[name].value() for name in page.fields if page[name].value() not in (None, False)}
    answer = coordinator.post("/studies/trial/rules/", fields | {"notes": "More."})
    assert answer.status_code == 302, answer.context["form"].errors
    found = assumed(draft)
    assert found is not None
    assert found.delta == 0.12
    assert read_analysis(draft.analysis).notes == "More."


def test_a_study_without_cases_has_no_forecast_and_says_so(coordinator: Client, draft: ReaderStudy) -> None:
    draft.cases.all().delete()
    assert "Needs two cases or more." in coordinator.get(ADDRESS).content.decode()


def test_a_frozen_study_shows_the_forecast_that_it_froze_and_an_older_one_none(
    coordinator: Client, draft: ReaderStudy, cora: User
) -> None:
    freeze_study(draft, actor=cora, at=NOON)
    page = coordinator.get(ADDRESS).content.decode()
    assert "Model against the mean of the readers" in page
    assert "<form" not in page.partition("<main")[2]
    assert "Model against the mean of the readers" in coordinator.get("/studies/trial/freeze/").content.decode()
    old = make_study("Old")
    assert coordinator.get("/studies/old/forecast/").context["forecast"] is None
    assert "Model against the mean" not in coordinator.get("/studies/old/freeze/").content.decode()
    assert old.protocol == ""
