"""Celery's own settings. Default: messages as files under REXVQA_HOME, no server."""

import importlib
from typing import Any

from celery.schedules import schedule
from django.conf import settings
from kombu import Queue

from annotation.enums import SWEEPS, JobQueue

QUEUES = (*JobQueue.values(), SWEEPS)
SECONDS_BETWEEN_SWEEPS = 5

broker_url = settings.CELERY_BROKER_URL
broker_connection_retry_on_startup = True
broker_transport_options: dict[str, Any] = {}
if broker_url.startswith("filesystem"):
    _messages, _control = settings.QUEUE_ROOT / "messages", settings.QUEUE_ROOT / "control"
    for _folder in (_messages, _control):
        _folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    importlib.import_module("rexvqa_site.queue_files")  # which takes the place of kombu's own
    broker_transport_options = {
        "data_folder_in": str(_messages),
        "data_folder_out": str(_messages),
        "control_folder": str(_control),
        "polling_interval": 0.1,
    }
elif broker_url.startswith("redis"):  # kombu waits for an answer without end
    broker_transport_options = {"socket_timeout": 3, "socket_connect_timeout": 3}
    worker_disable_prefetch = True  # else who is busy holds messages; of the others the sweep sends them again
task_publish_retry_policy = {"max_retries": 1, "interval_start": 0}  # a page waits; the sweep sends it again

task_queues = [Queue(name, queue_arguments={"x-max-priority": 9}) for name in QUEUES]
task_default_queue = JobQueue.ANALYSIS
beat_schedule = {
    SWEEPS: {
        "task": "annotation.tasks.sweep",
        "schedule": schedule(SECONDS_BETWEEN_SWEEPS),
        "options": {"queue": SWEEPS, "expires": SECONDS_BETWEEN_SWEEPS},
    }
}
task_ignore_result = True
task_acks_late = True
task_reject_on_worker_lost = True
worker_prefetch_multiplier = 1
worker_hijack_root_logger = False
timezone = "UTC"
enable_utc = True
