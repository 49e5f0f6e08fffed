import os

# OpenBLAS would take every processor for each product of matrices and make its threads wait for each other: on a
# machine whose processors do other work as well that takes ten times as long. Set before anything imports numpy.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from rexvqa_site.celery import app as celery_app

__all__ = ["celery_app"]
