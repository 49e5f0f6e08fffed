#!/usr/bin/env python
"""Command line of the reading room."""

import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "rexvqa_site.settings")
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import execute_from_command_line
    from django.db import OperationalError

    from rexvqa_site.commands import database_away, why_not

    try:
        if reason := why_not(sys.argv[1:]):
            raise ImproperlyConfigured(reason)
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as error:
        print(error, file=sys.stderr)
        sys.exit(2)
    except OperationalError as error:
        if not (reason := database_away(error)):
            raise
        print(reason, file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
