"""Django's private parts stand in one module, which was read in one release of Django."""

from __future__ import annotations

import re
from pathlib import Path

import django
import pytest

pytestmark = pytest.mark.django_db


ROOT = Path(__file__).parents[3]
READ_IN = (5, 2)
WHAT_TO_DO = (
    "annotation/site/internals.py was read in Django {}.{} and this is {}.{}. Compare the source of each part that it "
    "names (SQLCompiler.get_converters and klass_info, ModelIterable, get_related_populators, _raw_delete, the cache "
    "of a relation, SessionStore._get_session_from_db, HashedFilesMixin's patterns, ProjectState.apps) in both, run "
    "tests/annotation/site and `make bench`, and set READ_IN here."
)
PRIVATE = re.compile(
    r"get_compiler|get_converters|klass_info|get_related_populators|ModelIterable|_iterable_class|_raw_delete"
    r"|set_cached_value|fields_cache|_get_session_from_db|\.query\.\w|_result_cache|_prefetched_objects_cache"
    r"|wrap_database_errors|validate_no_broken_transaction|_js_module_import|ProjectState"
)


def test_the_parts_were_read_in_this_release() -> None:
    assert django.VERSION[:2] == READ_IN, WHAT_TO_DO.format(*READ_IN, *django.VERSION[:2])


def test_they_stand_in_one_module() -> None:
    files = [path for app in ("annotation", "readerstudy", "rexvqa_site") for path in (ROOT / app).rglob("*.py")]
    touching = {str(path.relative_to(ROOT)) for path in files if PRIVATE.search(path.read_text())}
    assert touching == {"annotation/site/internals.py"}
