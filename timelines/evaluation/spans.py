"""Pair reference and predicted occurrences by shared note text.

This does not depend on an embedder. No Django. Spans are half-open code-point offsets (start, end)
of one note. Source: protocol section 3 ("Span recall").
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence

Span = tuple[int, int]


def match_spans(
    reference_spans: Sequence[Span | None], predicted_spans: Sequence[Span | None], iou: float = 0.4
) -> list[tuple[int, int, float]]:
    """Return (reference index, predicted index, IoU) of matched spans.

    In the order taken, each span in one pair at most. The largest overlap first among pairs whose
    intersection over union is at least `iou` (not strict), ties to the lower reference, then the
    lower predicted index. An occurrence without a span (None) or with an empty one matches nothing.
    Raises ValueError for a span that ends before it starts and for an `iou` outside 0 < iou ≤ 1.
    """
    if not 0 < iou <= 1:
        raise ValueError(f"IoU of {iou} is not above 0 and at most 1")
    free_references, free_predictions = (
        set(range(len(reference_spans))),
        set(range(len(predicted_spans))),
    )
    pairs = []
    for overlap, r, p in sorted(
        _overlaps(reference_spans, predicted_spans, iou),
        key=lambda found: (-found[0], found[1], found[2]),
    ):
        if r in free_references and p in free_predictions:
            free_references.remove(r)
            free_predictions.remove(p)
            pairs.append((r, p, overlap))
    return pairs


def span_iou(first: Span, second: Span) -> float:
    """Return the intersection over union of two spans, 0…1.

    0 if they share nothing or are empty.
    """
    shared = min(first[1], second[1]) - max(first[0], second[0])
    return shared / (max(first[1], second[1]) - min(first[0], second[0])) if shared > 0 else 0.0


def _overlaps(
    references: Sequence[Span | None], predictions: Sequence[Span | None], iou: float
) -> Iterator[tuple[float, int, int]]:
    """Return (IoU, reference, predicted) of pairs that overlap enough.

    The union of such a pair is at most length / iou long, so the prediction starts no further than
    that before the reference's end. Only those few predictions, sorted by start, are compared.
    """
    by_start = sorted((span, p) for p, span in _present(predictions))
    starts = [span[0] for span, _ in by_start]
    for r, span in _present(references):
        # one more, against rounding in the division
        reach = math.ceil((span[1] - span[0]) / iou) + 1
        for other, p in by_start[
            bisect_left(starts, span[1] - reach) : bisect_left(starts, span[1])
        ]:
            overlap = span_iou(span, other)
            if overlap >= iou:
                yield overlap, r, p


def _present(spans: Sequence[Span | None]) -> Iterator[tuple[int, Span]]:
    for index, span in enumerate(spans):
        if span is None:
            continue
        if span[0] > span[1]:
            raise ValueError(f"span {index} ends before it starts")
        yield index, span
