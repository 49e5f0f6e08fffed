"""Celery carries only job numbers; the Job table is the truth (annotation/jobs)."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "rexvqa_site.settings")
os.environ["CELERY_SKIP_CHECKS"] = "1"  # of Django, which load every page
app = Celery("rexvqa")
app.config_from_object("rexvqa_site.celery_settings")
app.autodiscover_tasks(["annotation.jobs"], related_name="running")
