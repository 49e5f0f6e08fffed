import gc
import os

# OpenBLAS would take every processor for each product of matrices and make its threads wait for each other: on a
# machine whose processors do other work as well that takes ten times as long. Set before anything imports numpy.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# A start makes a million objects that stay: looking for garbage among them every 700 takes an eighth of its time.
gc.set_threshold(20_000, 20, 20)

# Where a process only sends messages, Celery reads its settings at the first; the worker has rexvqa_site.celery.
os.environ.setdefault("CELERY_CONFIG_MODULE", "rexvqa_site.celery_settings")
