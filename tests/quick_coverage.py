"""Let SlipCover forget a line once it has run, in pytest's workers too.

SlipCover can stop watching a line after its first run, which halves the time of the first tests
of a process. Its option does not reach the workers of pytest-xdist, whose plugin creates its own
`Slipcover` as soon as it is imported. pytest loads this module before (`-p`).
"""

import functools

import slipcover

slipcover.Slipcover.__init__ = functools.partialmethod(slipcover.Slipcover.__init__, immediate=True)
