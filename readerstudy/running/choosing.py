"""What a run can be planned with: endpoints, what they call their model, prompts, and banks or studies."""

from __future__ import annotations

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from annotation.endpoints.configured_endpoints import endpoint_named
from annotation.enums import PromptPurpose
from annotation.models import PromptVersion, User
from annotation.site.slugs import listed
from readerstudy.predictions.listing import Target, targets_for
from readerstudy.running.asked_questions import RunningRefused
from readerstudy.running.seeing import coordinates, read_beside


def prompts_to_answer() -> QuerySet[PromptVersion]:
    """By name, the newest version of each first."""
    return PromptVersion.objects.filter(purpose=PromptPurpose.ANSWER).order_by("name", "-number")


def prompt_named(text: str) -> PromptVersion:
    """ "our reading" is its newest version, "our reading@2" the second. Raises RunningRefused for any other."""
    name, at, number = text.rpartition("@")
    found = PromptVersion.objects.filter(name=text).first()
    if found is None and at and number.isdecimal():
        found = PromptVersion.objects.filter(name=name, number=int(number[:6])).first()
    if found is None:
        names = listed(sorted(set(prompts_to_answer().values_list("name", flat=True)))) or _("none so far")
        sentence = _("There is no prompt “%(name)s”. Prompts that ask for answers: %(names)s.")
        raise RunningRefused("no_prompt", sentence % {"name": text, "names": names}, status=404, field="prompt")
    return found


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
