"""Fills the site of REXVQA_HOME with a study of radiographs at full size, and prints how its reader gets in.

A process of its own, because the site that is measured has the shipped settings.
``python -m tests.bench.reading_site 40`` makes 40 cases.
"""

from __future__ import annotations

import json
import sys

import django

from tests.bench.review_site import give_radiographs
from tests.ways_in import sessions_of_readers


def main(n_cases: int) -> None:
    django.setup()
    from tests.readerstudy.studies import make_study

    study = make_study("Bench", n_cases=n_cases, n_orders=1, simulated=True, give_images=give_radiographs)
    print(json.dumps({"session": sessions_of_readers(study, 1)[0], "study": study.slug}))


if __name__ == "__main__":
    main(int(sys.argv[1]))
