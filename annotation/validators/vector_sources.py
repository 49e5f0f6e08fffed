"""Where vectors of texts come from: a model at an endpoint, or one in a folder of this server, which sends nothing."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING

from django.utils.translation import gettext as _
from msgspec import Struct

from annotation.call_enums import Ending
from annotation.endpoints.client import Exchange, Limits, ModelClient
from annotation.endpoints.configured_endpoints import checked_model, endpoint_named, endpoint_to_ask, endpoints, key_for
from annotation.endpoints.kernels.completions import embeddings_request
from annotation.endpoints.sending_permissions import permission_in_force
from annotation.model_calls.kernels.pacing import seconds_before_retry, seconds_to_wait
from annotation.models import QuestionBank
from annotation.models.quality import FOLDER
from annotation.refusals import Refused
from annotation.validators.folder_models import EMBEDDINGS, folder_named, folders, n_threads, usable
from annotation.validators.kernels.model_folder import SentenceFolder, read_sentence_folder

if TYPE_CHECKING:
    from annotation.validators.kernels.near_vectors import Vectors

ATTEMPTS = 5
PASSING = {408, 429, *range(500, 600)}  # statuses after which it is asked again
Clock = Callable[[], datetime]
Wait = Callable[[float], object]
Ask = Callable[[list[str]], "Vectors"]


class EmbeddingRefused(Refused):
    """Questions cannot be embedded or compared so; the sentence says what to do."""


class VectorSource(Struct, frozen=True):
    """``endpoint`` and ``model`` as an embedding keeps them: of a folder its name and what its files amount to."""

    endpoint: str
    model: str
    permission: str = ""  # its public id; a folder needs none
    folder: SentenceFolder | None = None


def has_sources() -> bool:
    return bool(endpoints() or folders(EMBEDDINGS))


def source_named(bank: QuestionBank, name: str, model: str, *, at: datetime) -> VectorSource:
    """An endpoint with a permission to send it questions of the bank, or ``folder:NAME``.

    Raises EmbeddingRefused, EndpointRefused and SendingRefused.
    """
    if name.startswith(FOLDER):
        own = name.removeprefix(FOLDER)
        found = folder_named(own, EMBEDDINGS, read=read_sentence_folder, fingerprint=model, refused=EmbeddingRefused)
        return VectorSource(name, found.fingerprint, folder=found)
    model = checked_model(endpoint_to_ask(name), model)
    return VectorSource(name, model, permission_in_force(bank, name, at=at).public_id)


@contextmanager
def asking(
    source: VectorSource, bank: QuestionBank, *, clock: Clock, limits: Limits | None, wait: Wait | None
) -> Iterator[Ask]:
    """Gives what turns texts into vectors. Raises EmbeddingRefused, then and at each call."""
    if source.folder is not None:
        yield _folder_model(source.folder)
        return
    endpoint = endpoint_named(source.endpoint)
    pause = 60 / endpoint.calls_per_minute if endpoint.calls_per_minute else 0.0
    with ModelClient(endpoint, key_for(endpoint), limits=limits) as client:
        yield _EndpointModel(source, bank, client, wait or threading.Event().wait, clock, pause).vectors


def _folder_model(folder: SentenceFolder) -> Ask:
    from annotation.validators.kernels.onnx_model import SentenceModel  # onnxruntime and tokenizers

    def vectors(texts: list[str]) -> Vectors:
        with usable(folder.name, EmbeddingRefused):
            return model.vectors(texts)

    with usable(folder.name, EmbeddingRefused):
        model = SentenceModel(folder, n_threads=n_threads())
    return vectors


class _EndpointModel(Struct):
    source: VectorSource
    bank: QuestionBank
    client: ModelClient
    wait: Wait
    clock: Clock
    pause: float  # seconds before each request but the first
    n_sent: int = 0

    def vectors(self, texts: list[str]) -> Vectors:
        from annotation.validators.kernels.near_vectors import unit_vectors  # numpy

        request = embeddings_request(self.source.model, texts)
        for n_failures in range(1, ATTEMPTS + 1):
            if self.pause and self.n_sent:
                self.wait(self.pause)
            permission_in_force(self.bank, self.source.endpoint, at=self.clock())
            sent = self.client.send(request, at=self.clock())
            self.n_sent += 1
            if sent.ending == Ending.ANSWERED:
                try:
                    return unit_vectors(sent.body, len(texts))
                except ValueError as error:
                    raise self._refused(_("its answer cannot be used: %(why)s") % {"why": error}) from None
            if n_failures == ATTEMPTS or (
                sent.status is not None and sent.ending == Ending.HTTP_ERROR and (sent.status not in PASSING)
            ):
                raise self._refused(_what_came(sent))
            self.wait(_seconds(sent, n_failures, self.clock()))
        raise AssertionError("not reached")

    def _refused(self, why: str) -> EmbeddingRefused:
        sentence = _(
            "“%(model)s” at “%(endpoint)s” gave no vectors: %(why)s. What came before is kept; ask again, and only the "
            "rest is sent."
        )
        facts = {"model": self.source.model, "endpoint": self.source.endpoint, "why": why}
        return EmbeddingRefused("no_vectors", sentence % facts)


def _what_came(sent: Exchange) -> str:
    ended = _(sent.ending.label)
    if sent.status is not None and sent.ending == Ending.HTTP_ERROR:
        return f"{ended}, {sent.status}"
    return f"{ended}, {sent.problem}" if sent.problem else ended


def _seconds(sent: Exchange, n_failures: int, now: datetime) -> float:
    retry_after = seconds_to_wait(dict(sent.headers).get("retry-after", ""), now)
    return seconds_before_retry(n_failures) if retry_after is None else retry_after
