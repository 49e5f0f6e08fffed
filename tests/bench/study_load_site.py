"""Fills the site of REXVQA_HOME with an open study, and prints how its readers get in: a session for each.

``python -m tests.bench.study_load_site 200 40`` makes 200 readers, each with 40 cases in an order of their own.
"""

from __future__ import annotations

import json
import sys

import django


def main(n_readers: int, n_cases: int) -> None:
    django.setup()
    from tests.bench.api_requests import bank_token
    from tests.bench.review_site import give_radiographs
    from tests.readerstudy.studies import make_study
    from tests.ways_in import sessions_of_readers

    study = make_study("Load", n_cases=n_cases, n_orders=n_readers, give_images=give_radiographs)
    token, sessions = bank_token(study.bank), sessions_of_readers(study, n_readers)
    print(json.dumps({"study": study.slug, "bank": study.bank.slug, "token": token, "sessions": sessions}))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
