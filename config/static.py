"""Static files of a deployment: compressed, and named by their content.

Browsers may cache them for a year.
"""

from __future__ import annotations

from whitenoise.middleware import WhiteNoiseMiddleware
from whitenoise.storage import CompressedManifestStaticFilesStorage


class StaticFilesMiddleware(WhiteNoiseMiddleware):
    """Lets browsers cache files named by their content for a year.

    The library's default is ten years.
    """

    FOREVER = 365 * 24 * 60 * 60


class HashedStorage(CompressedManifestStaticFilesStorage):
    """Rewrites references inside stylesheets and inside pages' own scripts.

    The base class also follows `sourceMappingURL` comments and fails if the map is not shipped, as
    in most minified scripts of packages: those are not changed.

    A module's import names the hashed file, so that a browser never mixes modules of two versions.
    The formatter writes every import as these patterns expect it. A circle of imports has no
    hashes: collecting the files fails then.
    """

    patterns = (
        ("*.css", (r"""(?P<matched>url\(['"]{0,1}\s*(?P<url>.*?)["']{0,1}\))""",)),
        (
            "js/*.js",
            (
                (
                    r"""(?m)^(?P<matched>(?P<start>import|(?:import|export|\}).* from) """
                    r""""(?P<url>\.[^"]+)";)$""",
                    """%(start)s "%(url)s";""",
                ),
            ),
        ),
    )
