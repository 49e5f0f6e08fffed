"""Fills the site of REXVQA_HOME with an open study of small pictures, and prints how its readers get in.

A process of its own, because the site that is tested has the shipped settings.
``python -m tests.readerstudy.durability.site 2 40`` makes two readers with 40 cases each.
"""

from __future__ import annotations

import json
import sys

import django


def main(n_readers: int, n_cases: int) -> None:
    django.setup()
    from django.test import Client

    from annotation.models import User
    from tests.bench.review_site import BACKEND
    from tests.readerstudy.studies import enrol, make_study

    study = make_study("Endurance", n_cases=n_cases, n_orders=n_readers, pixels=True)
    sessions = []
    for n in range(n_readers):
        reader = User.objects.create_user(f"reader{n}@example.org", None, name=f"Reader {n}")
        enrol(study, reader)
        client = Client()
        client.force_login(reader, backend=BACKEND)
        sessions.append(client.cookies["sessionid"].value)
    print(json.dumps({"study": study.slug, "sessions": sessions}))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
