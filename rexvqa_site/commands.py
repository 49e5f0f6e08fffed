"""The command line: a command that needs a site says so where there is none, and makes nothing."""

from __future__ import annotations

from pathlib import Path

from rexvqa_site.env import env_path, env_str

PROGRAM = Path(__file__).resolve().parent.parent
MAKE_OR_NEED_NONE = {
    *("serve", "restore", "mark_demonstration", "delete_demonstration"),
    *("write_states", "write_api_schema"),
}
OF_DJANGO = {"changepassword"}


def why_not(arguments: list[str]) -> str:
    """What blocks this command; an empty string for nothing. Raises what the database raises.

    The home is looked at before the settings are read, since they make folders and keys in it.
    """
    own = {path.stem for path in PROGRAM.glob("*/management/commands/*.py")}
    need_a_site = (own | OF_DJANGO) - MAKE_OR_NEED_NONE
    if not arguments or arguments[0] not in need_a_site or {"-h", "--help"} & set(arguments):
        return ""
    home = env_path("REXVQA_HOME", PROGRAM / "var")
    no_site = f"There is no site in this folder: run make serve or set REXVQA_HOME ({home})"
    if not (home / "media").is_dir() and not env_str("REXVQA_MEDIA").startswith("s3:"):  # else the home may be empty
        return no_site
    import django
    from django.contrib.auth import get_user_model
    from django.db import connection

    django.setup()
    place = connection.settings_dict["NAME"]
    if connection.vendor == "sqlite" and not Path(place).exists():  # connecting would make it
        return no_site
    try:
        tables = connection.introspection.table_names()
    finally:
        connection.close()
    return "" if get_user_model()._meta.db_table in tables else no_site


def database_away(error: Exception) -> str:
    """What to say of this error where the database does not answer; an empty string for every other fault."""
    from annotation.site.health import Outage, outage_of

    if outage_of(error) is not Outage.DATABASE_AWAY:
        return ""
    return f"The database does not answer: {str(error).strip().splitlines()[0]}"
