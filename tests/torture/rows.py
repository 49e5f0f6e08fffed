"""Runs inside the site of REXVQA_HOME: fills it with an open study, or prints the answers and guesses stored in it.

``python -m tests.torture.rows fill 20 50`` makes 20 readers with 50 cases each; ``... rows stored`` lists the answers.
"""

from __future__ import annotations

import json
import sys

import django


def fill(n_readers: int, n_cases: int) -> dict[str, object]:
    from django.db import transaction

    from readerstudy.design.kernels.documents import Rules
    from readerstudy.models import Enrolment
    from tests.readerstudy.studies import make_study
    from tests.ways_in import sessions_of_readers

    with transaction.atomic():
        study = make_study("Torture", n_cases=n_cases, n_orders=n_readers, rules=Rules(cannot_tell=True))
        sessions = sessions_of_readers(study, n_readers)
    return {"slug": study.slug, "sessions": sessions, "n": Enrolment.objects.count() * n_cases}


def stored() -> dict[str, object]:
    from annotation.audit.recording import verify
    from readerstudy.enums import RemarkKind
    from readerstudy.models import Remark, Response
    from tests.torture.ledger import GUESS

    answers = Response.objects.filter(is_confirmed=True).values_list("reading__presented__public_id", "key", "option")
    guesses = Remark.objects.filter(kind=RemarkKind.GUESS).values_list("reading__presented__public_id", "key", "value")
    return {
        "answers": [*answers, *((f"{place} {GUESS}", key, option) for place, key, option in guesses)],
        "audit_whole": verify().fault is None,
    }


if __name__ == "__main__":
    django.setup()
    print(json.dumps(fill(*map(int, sys.argv[2:])) if sys.argv[1] == "fill" else stored()))
