"""Fills the site of REXVQA_HOME for the load test, and prints how to get in: a session and an order of cases for each
of its readers, and the address of one image at full depth.

``python -m tests.bench.load_site 32 20`` makes 32 readers with 20 questions each.
"""

from __future__ import annotations

import json
import sys

import django


def main(n_readers: int, n_questions: int) -> None:
    django.setup()
    from django.urls import reverse

    from annotation.enums import RenditionKind
    from annotation.models import Rendition, User
    from tests.annotation.review.cases import assignments_of, make_round
    from tests.bench.review_site import give_radiographs
    from tests.ways_in import session_of

    readers = [User.objects.create_user(f"reader{n}@example.org", None, name=f"Reader {n}") for n in range(n_readers)]
    review_round = make_round(*readers, n_questions=n_questions, name="Load")
    give_radiographs()
    ways_in = []
    for reader in readers:
        cases = [
            {"id": one.public_id, "images": [image.public_id for image in one.revision.question.exam.images.all()]}
            for one in assignments_of(reader, review_round)
        ]
        ways_in.append({"session": session_of(reader), "cases": cases})
    full = Rendition.objects.filter(kind=RenditionKind.FULL).order_by("pk")[0]
    print(json.dumps({"readers": ways_in, "image": reverse("rendition", args=[full.name])}))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
