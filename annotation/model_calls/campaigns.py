"""What is the same wherever a model is asked about a bank: on which terms, within which cap, and the calls as rows.

A room that asks adds what is its own: which calls it plans, what becomes of their answers (its function in
``call_batches.completed``), and what its page says. Planning sends nothing; ``call_batches.start`` does.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from typing import Any, Generic, Self, TypeVar

from django.db.models import Model
from django.utils.translation import gettext as _

from annotation.call_enums import PromptPurpose, SentImages
from annotation.endpoints.configured_endpoints import endpoint_to_ask
from annotation.endpoints.kernels.model_requests import ChatSettings
from annotation.endpoints.prices import price_on
from annotation.endpoints.probing import newest_probe, refuted
from annotation.endpoints.sending_permissions import permission_in_force
from annotation.enums import ImageState
from annotation.model_calls.call_batches import BatchRefused, check_cap
from annotation.models import CallBatch, ModelCall, Price, PromptVersion, QuestionBank, SendingPermission, User

AT_ONCE = 1_000  # rows in one statement
WAITS = (ImageState.PENDING, ImageState.CHECKING, ImageState.QUARANTINED)  # images that cannot be sent yet


@dataclass(frozen=True, kw_only=True)
class Asking:
    """Which model is asked where, and how. Rooms add what it is asked about."""

    endpoint: str
    model: str  # as the endpoint calls it
    chat: ChatSettings = field(default_factory=ChatSettings)
    cap: Decimal | None = None


Wanted = TypeVar("Wanted", bound=Asking)
Run = TypeVar("Run", bound=Model)


@dataclass(frozen=True)
class CallPlan(Generic[Wanted, Run]):
    """What would be asked, and on which terms. Rooms add the calls; ``run`` is None until it is stored."""

    wanted: Wanted
    permission: SendingPermission
    price: Price | None  # None: nobody has stated it
    run: Run | None = field(default=None, kw_only=True)

    def stored(self, run: Run) -> Self:
        return replace(self, run=run)

    @property
    def stored_run(self) -> Run:
        assert self.run is not None
        return self.run

    def terms(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "permission": self.permission.public_id,
            "permission_until": self.permission.expires_at.isoformat(),
            "price": str(self.price) if self.price else None,
            "cap": None if self.wanted.cap is None else str(self.wanted.cap),
        }


# --- what is refused before anything is planned ---
def check_not_archived(bank: QuestionBank) -> None:
    if bank.archived_at is not None:
        sentence = _("“%(bank)s” is archived: bring it back first.") % {"bank": bank.name}
        raise BatchRefused("archived", sentence, field="bank")


def check_purpose(prompt: PromptVersion | None, purpose: PromptPurpose) -> None:
    """None: that of the program."""
    if prompt is not None and prompt.purpose != purpose:
        sentence = _("The prompt “%(name)s” is made to %(is)s, not to %(wanted)s.")
        named = {"name": prompt, "is": prompt.get_purpose_display(), "wanted": _(purpose.label)}
        raise BatchRefused("wrong_purpose", sentence % named, status=422, field="prompt")


def check_probe(endpoint: str, model: str, *, n_images: int, has_schema: bool) -> None:
    """Refused where the newest probe of the model saw that it cannot do what the calls need."""
    made = newest_probe(endpoint, model)
    if made is not None and (found := refuted(made, n_images=n_images, has_schema=has_schema)):
        raise BatchRefused("probe_refutes", " ".join(found))


def permitted_and_priced(
    bank: QuestionBank, asking: Asking, *, at: datetime, images: bool = False, reports: bool = False
) -> tuple[SendingPermission, Price | None]:
    """The permission that calls would name, and what the model costs now; None where nobody has stated it.

    Raises EndpointRefused, SendingRefused, and BatchRefused for a cap that cannot be kept.
    """
    endpoint_to_ask(asking.endpoint)
    permission = permission_in_force(bank, asking.endpoint, at=at, images=images, reports=reports)
    price = price_on(asking.endpoint, asking.model, at.date())
    if asking.cap is not None:
        check_cap(asking.cap, price)
    return permission, price


# --- what is stored ---
def store_batch(
    plan: CallPlan[Any, Any],
    bank: QuestionBank,
    prompt: PromptVersion,
    *,
    n_calls: int,
    images: str = SentImages.NONE,
    actor: User | None,
    at: datetime,
    **more: Any,
) -> CallBatch:
    """A batch that waits for its start. ``more``: further fields, such as a seed."""
    asking: Asking = plan.wanted
    return CallBatch.objects.create(
        purpose=prompt.purpose,
        bank=bank,
        endpoint=asking.endpoint,
        model=asking.model,
        prompt=prompt,
        permission=plan.permission,
        price=plan.price,
        chat_settings=asking.chat.kept(),
        images=images,
        n_calls=n_calls,
        cap=asking.cap,
        created_by=actor,
        created_at=at,
        **more,
    )


def add_calls(batch: CallBatch, asked: Iterable[Mapping[str, Any]]) -> None:
    """Numbered in this order, from 1. ``asked``: what each call is about, as fields of ModelCall."""
    calls = (ModelCall(batch=batch, number=number, **one) for number, one in enumerate(asked, start=1))
    ModelCall.objects.bulk_create(calls, batch_size=AT_ONCE)
