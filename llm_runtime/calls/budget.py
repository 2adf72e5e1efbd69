"""How many tokens an answer may have.

Counted by the server's own tokenizer, never left to a silent clamp.
"""

from __future__ import annotations

from collections.abc import Sequence

from llm_runtime.base import LanguageModel, Message
from llm_runtime.errors import PromptTooLong

#: Reserved for the reasons that a second or third attempt is shown.
SPARE = 1200


async def limit_answer(
    model: LanguageModel, messages: Sequence[Message], *, at_least: int, at_most: int
) -> int:
    """Return how many tokens the answer may have.

    What the context leaves beside the prompt, at most `at_most`. A model that thinks by itself has
    its tokens for that in addition.

    Raises PromptTooLong where less than `at_least` is left.
    """
    context, native = model.limits.context, model.limits.native
    at_least, at_most = at_least + native // 8, at_most + native
    used = await model.count_tokens(messages)
    left = context - used - min(SPARE, context // 8)
    if left < at_least:
        raise PromptTooLong(
            f"the prompt has {used} tokens, which leaves less than {at_least} of {context} for the"
            " answer"
        )
    return min(left, at_most)
