"""The protocol of a study as a document: a plan that can be imported again, and what the study became beside it."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from django.db import transaction

from annotation.audit.recording import record
from annotation.models import User
from readerstudy.design.creating import plan_of
from readerstudy.design.freezing import opening_of
from readerstudy.design.kernels.plan import plan_document
from readerstudy.design.vetoing import note_study_keys
from readerstudy.models import ReaderStudy


@transaction.atomic
def export_protocol(study: ReaderStudy, *, actor: User | None, at: datetime) -> dict[str, Any]:
    """The plan; for a frozen study also the protocol and its hash; for a closed one what opens the commitment."""
    document: dict[str, Any] = {**plan_document(plan_of(study)), "state": study.state, "exported_at": at.isoformat()}
    if study.protocol:
        document["protocol"] = json.loads(study.protocol)
        document["protocol_sha256"] = study.protocol_sha256
    opening = opening_of(study)
    if opening is not None:
        document["opening"] = dict(opening)
        note_study_keys(study, actor=actor, at=at)
    facts = {"protocol_sha256": study.protocol_sha256, "opened": opening is not None}
    record("study.protocol_exported", actor=actor, at=at, subject=study, facts=facts)
    return document
