"""Read YAML that people write, before anything is built. No Django.

Aliases, tags, long texts and deep nesting are refused: a short text cannot become a large one.
"""

from __future__ import annotations

import yaml

MAX_BYTES = 64 * 1024


class YamlFault(ValueError):
    """A text that is not accepted; the message says where and what to do."""

    log_safe = True


def compose(text: str, *, nesting: int) -> yaml.Node | None:
    """Return the nodes of one document, None for an empty one.

    Raises YamlFault.
    """
    if len(text.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        raise YamlFault(f"The text is longer than {MAX_BYTES // 1024} kB. Shorten it.")
    try:
        _refuse_extras(text, nesting)
        return yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        raise YamlFault(
            f"line {line}: the text is not YAML ({error.problem}). Correct this line."
        ) from None
    except yaml.YAMLError:
        raise YamlFault("The text is not YAML: it has a character that YAML forbids.") from None


def _refuse_extras(text: str, nesting: int) -> None:
    depth = 0
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        line = event.start_mark.line + 1 if event.start_mark else 1
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise YamlFault(f"line {line}: & and * are not allowed. Write it again.")
        if getattr(event, "tag", None):
            raise YamlFault(f"line {line}: tags (!) are not allowed. Remove the tag.")
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > nesting:
            raise YamlFault(f"line {line}: nested too deep. Use fewer levels.")
