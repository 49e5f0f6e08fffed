"""What the pages about sending to models show: terms, permissions in every state, prompts with two versions."""

from __future__ import annotations

from datetime import timedelta

from django.utils import timezone

from annotation.call_enums import EndpointPlace
from annotation.endpoints.kernels.endpoint_list import Endpoint
from annotation.endpoints.sending_permissions import give_permission, withdraw_permission
from annotation.model_calls.versions import LETTER_ALONE, OUR_READING, next_version, prompt_named, store_shipped
from annotation.models import SendingPermission
from annotation.questionbank.bank_life import change_terms
from tests.browser.pages.place import Place

NAMED = (
    Endpoint("local", "http://127.0.0.1:8000/v1", EndpointPlace.MACHINE),
    Endpoint("hosted", "https://models.example.org/v1", EndpointPlace.OUTSIDE),
)


def permit(place: Place) -> None:
    """Needs the endpoints of ``NAMED`` in the settings."""
    ada, cora, bank, now = place.people["ada"], place.people["cora"], place.things["bank"], timezone.now()
    terms = "\n\n".join(place.said(f"{number}. No sharing with third parties.") for number in range(1, 9))
    change_terms(bank, terms=terms, holds_quarters=True, actor=cora, at=now)
    bank.refresh_from_db()
    given = [
        give_permission(
            bank,
            endpoint,
            questions=True,
            images=number != 1,
            reports=number == 2,
            reason=place.said("Compare models."),
            agreement=place.said("Ethics vote 12/2026."),
            accepted_terms=bank.terms,
            expires_at=now + timedelta(days=90),
            actor=ada,
            at=now,
        )
        for number, endpoint in enumerate(("local", "hosted", "hosted", "local"))
    ]
    withdraw_permission(given[1], place.said("The contract ended."), actor=ada, at=now)
    SendingPermission.objects.filter(pk=given[3].pk).update(expires_at=now - timedelta(days=1))
    place.things |= {"permission": given[0]}


def write_prompts(place: Place) -> None:
    store_shipped(at=timezone.now())
    first = prompt_named(OUR_READING)
    text = first.text.replace("Explain briefly", place.said("Explain in detail"))
    reason, cora = place.said("Longer explanations."), place.people["cora"]
    second = next_version(first, text=text, schema="", instruction="", reason=reason, actor=cora, at=timezone.now())
    place.things |= {"prompt first": first, "prompt second": second, "prompt letter": prompt_named(LETTER_ALONE)}
