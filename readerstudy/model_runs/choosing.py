"""What a run can be planned with: endpoints, what they call their model, prompts, and banks or studies."""

from __future__ import annotations

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from annotation.call_enums import PromptPurpose
from annotation.endpoints.configured_endpoints import endpoint_named
from annotation.models import PromptVersion, User
from readerstudy.model_runs.asked_questions import RunningRefused
from readerstudy.model_runs.run_access import coordinates, read_beside
from readerstudy.predictions.listing import Target, targets_for


def prompts_to_answer() -> QuerySet[PromptVersion]:
    """By name, the newest version of each first."""
    return PromptVersion.objects.filter(purpose=PromptPurpose.ANSWER).order_by("name", "-number")


def model_at(endpoint: str, given: str) -> str:
    """What the endpoint calls the model. Raises RunningRefused where neither says so."""
    named = given.strip() or endpoint_named(endpoint).model
    if not named:
        sentence = _("Say what the endpoint “%(name)s” calls the model.")
        raise RunningRefused("no_model", sentence % {"name": endpoint}, status=422, field="endpoint_model")
    return named


def targets_to_run(person: User) -> list[Target]:
    """Studies first: what this person coordinates and does not read."""
    return [one for one in targets_for(person) if coordinates(person, one) and read_beside(person, one) is None]
