"""The exact request of a call, made again from its rows: the same rows give the same bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _

from annotation.contributions import contributed
from annotation.endpoints.kernels.model_requests import ChatSettings, Message, ModelRequest, chat_request
from annotation.ingest.model_pictures import picture_bytes
from annotation.model_calls.call_batches import BatchRefused
from annotation.model_calls.kernels.question_text import question_values
from annotation.models import CallBatch, ModelCall
from annotation.prompts.kernels.filling import fill

# By purpose, what fills further variables of the prompt from ``ModelCall.values``, of many calls at once.
Filler = Callable[[Sequence[ModelCall]], Iterable[dict[str, str]]]


@dataclass(frozen=True)
class CallContent:
    """What a call says, with its pictures by their hashes."""

    model: str
    instruction: str
    text: str
    pictures: tuple[str, ...]
    settings: ChatSettings

    def request(self, picture: Callable[[str], bytes] = picture_bytes) -> ModelRequest:
        """Pictures come before the text. ``picture`` gives the bytes of one by its hash."""
        first = [Message("system", (self.instruction,))] if self.instruction else []
        parts: tuple[str | bytes, ...] = (*(picture(sha256) for sha256 in self.pictures), self.text)
        return chat_request(self.model, [*first, Message("user", parts)], self.settings)


def contents_of(batch: CallBatch, calls: Sequence[ModelCall]) -> list[CallContent]:
    """``calls`` of the batch, with their revisions loaded and their pictures known."""
    prompt = batch.prompt
    settings = ChatSettings(**batch.chat_settings, schema=prompt.schema)
    values = [_question_values(call) for call in calls]
    further = contributed().fillers.get(batch.purpose)
    if further is not None:
        values = [own | more for own, more in zip(values, further(calls), strict=True)]
    declared = set(prompt.variables)
    return [
        CallContent(
            batch.model,
            fill(prompt.instruction, kept),
            fill(prompt.text, kept),
            tuple(call.pictures or ()),
            settings,
        )
        for call, own in zip(calls, values, strict=True)
        for kept in [{name: text for name, text in own.items() if name in declared}]
    ]


def request_of(call: ModelCall) -> ModelRequest:
    """The request as it was sent. Raises BatchRefused (``not_the_same``) where it can no longer be made."""
    if call.pictures is None:
        raise BatchRefused("not_sent", _("This call was not sent yet."))
    request = contents_of(call.batch, [call])[0].request()
    if request.sha256 != call.request_sha256:
        sentence = _(
            "The request that is made from the rows is not the one that was sent: %(now)s instead of %(then)s."
        )
        raise BatchRefused("not_the_same", sentence % {"now": request.sha256, "then": call.request_sha256})
    return request


def _question_values(call: ModelCall) -> dict[str, str]:
    revision = call.revision
    return {} if revision is None else question_values(revision.stem, revision.options, call.rotation)
