import os
from pathlib import Path

from django.conf import settings
from django.core.wsgi import get_wsgi_application

from rexvqa_site.boards import Boards
from rexvqa_site.lanes import Lanes
from rexvqa_site.serving import end_with_server

end_with_server()
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "rexvqa_site.settings")
program = get_wsgi_application()

from annotation.views.site.middleware import client_address  # noqa: E402 - of Django, which has to be set up
from readerstudy.leaderboard.editions import bring_boards  # noqa: E402

application = Boards(
    Lanes(
        program,
        images=("/images/", "/api/v1/renditions/"),
        passwords=("/login/", "/password/", "/invitation/", "/read/join/"),
        address=lambda sent: client_address(sent.get("REMOTE_ADDR", ""), sent.get("HTTP_X_FORWARDED_FOR", "")),
    ),
    Path(settings.HOME) / "boards",
    bring_boards,
)
