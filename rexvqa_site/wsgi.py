import os

from django.core.wsgi import get_wsgi_application

from rexvqa_site.lanes import Lanes

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "rexvqa_site.settings")
application = Lanes(get_wsgi_application(), images="/images/")
