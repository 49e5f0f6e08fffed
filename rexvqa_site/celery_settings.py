"""Celery's own settings. Default: messages as files under REXVQA_HOME, one worker with threads, no server."""

from typing import Any

from django.conf import settings

broker_url = settings.CELERY_BROKER_URL
broker_connection_retry_on_startup = True
broker_transport_options: dict[str, Any] = {}
if broker_url.startswith("filesystem"):
    _messages, _control = settings.QUEUE_ROOT / "messages", settings.QUEUE_ROOT / "control"
    for _folder in (_messages, _control):
        _folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    broker_transport_options = {
        "data_folder_in": str(_messages),
        "data_folder_out": str(_messages),
        "control_folder": str(_control),
        "polling_interval": 0.1,
    }

task_ignore_result = True
task_acks_late = True
task_reject_on_worker_lost = True
worker_prefetch_multiplier = 1
worker_hijack_root_logger = False
timezone = "UTC"
enable_utc = True
