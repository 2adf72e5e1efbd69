"""Static files of a deployment: compressed, and named by their content so that browsers may keep
them for a year.
"""

from __future__ import annotations

from whitenoise.middleware import WhiteNoiseMiddleware
from whitenoise.storage import CompressedManifestStaticFilesStorage


class StaticFilesMiddleware(WhiteNoiseMiddleware):
    """Lets browsers keep files that are named by their content for a year; the library's own answer
    is ten.
    """

    FOREVER = 365 * 24 * 60 * 60


class HashedStorage(CompressedManifestStaticFilesStorage):
    """Rewrites references inside stylesheets alone.

    The base class also follows `sourceMappingURL` comments and fails over those whose map is not
    shipped, as in most minified scripts.
    """

    patterns = (("*.css", (r"""(?P<matched>url\(['"]{0,1}\s*(?P<url>.*?)["']{0,1}\))""",)),)
