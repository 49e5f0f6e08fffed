"""Inside the site of REXVQA_HOME: ``fill N`` makes a batch of N calls at work, ``stored`` tells what became of it."""

from __future__ import annotations

import json
import sys
from datetime import timedelta

import django


def fill(n_calls: int) -> dict[str, object]:
    from django.db import transaction
    from django.utils import timezone

    from tests.annotation.model_calls.simulated_calls import make_batch, make_permission
    from tests.annotation.review.cases import make_bank

    with transaction.atomic():
        bank = make_bank("Asked")
        permission = make_permission(bank, expires_at=timezone.now() + timedelta(days=1))
        make_batch(n_calls, bank=bank, permission=permission)
    return {}


def state() -> dict[str, object]:
    from annotation.models import CallBatch

    batch = CallBatch.objects.get()
    return {"state": batch.state, "because": batch.paused_because}


def stored() -> dict[str, object]:
    from annotation.audit.recording import verify
    from annotation.call_enums import CallOutcome
    from annotation.model_calls.next_calls import tally
    from annotation.models import CallAttempt, CallBatch, ModelCall

    final = CallAttempt.objects.filter(outcome=CallOutcome.ANSWERED)
    return {
        "answered": final.values("call").distinct().count() if final.count() == ModelCall.objects.count() else -1,
        "asked_twice": tally(CallBatch.objects.get()).n_asked_twice,
        "requests": dict(ModelCall.objects.values_list("request_sha256", "n_sent")),
        "audit_whole": verify().fault is None,
    }


if __name__ == "__main__":
    django.setup()
    acts = {"fill": lambda: fill(int(sys.argv[2])), "state": state, "stored": stored}
    print(json.dumps(acts[sys.argv[1]]()))
