"""Adapt SlipCover to the suite, in pytest's workers too.

SlipCover can stop watching a line after its first run, which halves the time of the first tests
of a process. Its option does not reach the workers of pytest-xdist, whose plugin creates its own
`Slipcover` as soon as it is imported. pytest loads this module before (`-p`).

It also marks branches by assignments. In the body of an Enum such a mark becomes a member, so
modules with a branch there are left unmarked; they are of libraries.
"""

import ast
import functools

import slipcover
from slipcover import branch

slipcover.Slipcover.__init__ = functools.partialmethod(slipcover.Slipcover.__init__, immediate=True)

_mark = branch.preinstrument


def _mark_without_enums(tree: ast.AST) -> ast.AST:
    """Mark the branches of a module, unless an Enum of it has one."""
    enums = (
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and any("Enum" in ast.unparse(b) for b in node.bases)
    )
    branches = any(isinstance(line, ast.If) for enum in enums for line in enum.body)
    return tree if branches else _mark(tree)


branch.preinstrument = _mark_without_enums
