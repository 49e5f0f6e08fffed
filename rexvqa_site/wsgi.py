import os
from pathlib import Path

from django.conf import settings
from django.core.wsgi import get_wsgi_application

from rexvqa_site.boards import Boards
from rexvqa_site.children import end_with_server
from rexvqa_site.lanes import Lanes
from rexvqa_site.slow_bodies import Watch, cutting

end_with_server()
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "rexvqa_site.settings")
program = get_wsgi_application()
application = Boards(
    Lanes(
        program,
        images=("/images/", "/api/v1/renditions/"),
        passwords=("/login/", "/password/", "/invitation/", "/read/join/"),
        watch=Watch(cutting(settings.PORT)),
    ),
    Path(settings.HOME) / "boards",
)
