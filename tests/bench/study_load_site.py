"""Fills the site of REXVQA_HOME with an open study, and prints how its readers get in: a session for each.

``python -m tests.bench.study_load_site 200 40`` makes 200 readers, each with 40 cases in an order of their own.
"""

from __future__ import annotations

import json
import sys

import django


def main(n_readers: int, n_cases: int) -> None:
    django.setup()
    from django.test import Client

    from annotation.models import User
    from tests.bench.api_requests import bank_token
    from tests.bench.review_site import BACKEND, give_radiographs
    from tests.readerstudy.studies import enrol, make_study

    study = make_study("Load", n_cases=n_cases, n_orders=n_readers, give_images=give_radiographs)
    sessions = []
    for n in range(n_readers):
        reader = User.objects.create_user(f"reader{n}@example.org", None, name=f"Reader {n}")
        enrol(study, reader)
        client = Client()
        client.force_login(reader, backend=BACKEND)
        sessions.append(client.cookies["sessionid"].value)
    way_in = {"study": study.slug, "bank": study.bank.slug, "token": bank_token(study.bank), "sessions": sessions}
    print(json.dumps(way_in))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
