"""Static files under hashed names, also where one of our JavaScript modules names another."""

from django.contrib.staticfiles.storage import HashedFilesMixin
from whitenoise.storage import CompressedManifestStaticFilesStorage

from annotation.site.internals import MODULE_IMPORTS

# Only ours: modules of other packages name each other through import maps, which cannot be followed here.
OURS = ("annotation/*.js", "readerstudy/*.js", "case/*.js")


class ModuleStaticFilesStorage(CompressedManifestStaticFilesStorage):  # type: ignore[misc]
    """Only hashed names are kept, so every `from "./other.js"` must be rewritten to them."""

    patterns = (*HashedFilesMixin.patterns, *((ours, MODULE_IMPORTS) for ours in OURS))
