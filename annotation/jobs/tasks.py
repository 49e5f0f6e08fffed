"""Celery tasks: load by number, call one act, safe to run twice."""

from celery import shared_task
from django.utils import timezone

from annotation.jobs import running


@shared_task(name="annotation.tasks.run_job")  # queues may hold this name
def run_job(public_id: str) -> None:
    running.run(public_id, clock=timezone.now)
