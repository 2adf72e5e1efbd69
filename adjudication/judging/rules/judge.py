"""The judge without a language model. No Django.

It pairs the rows of two timelines and decides differences from note and record (protocol section
4). It decides for a side only if they settle it, and abstains otherwise. It is deterministic, and
charges do not depend on which timeline is called A. It gets no source names.
"""

from __future__ import annotations

from adjudication.domain import (
    Finding,
    FindingPolarity,
    FindingType,
    Grounding,
    Relation,
    Side,
    Verdict,
)
from adjudication.judging.input import (
    CandidateRow,
    Judged,
    JudgedFinding,
    JudgeInput,
    Unjudged,
)
from adjudication.judging.quotes import NOT_FOUND
from adjudication.judging.rules.deciding import Decision, Ruling
from adjudication.judging.rules.pairing import Pairing, contradict_values, is_linked, pair_rows
from adjudication.judging.rules.reading import CaseReading
from adjudication.judging.table_evidence import read_table_evidence
from adjudication.judging.validation import TOLERANCE, Tolerance
from timelines.pipeline.backbone import Check, never_stop

NAME = "rules"
#: Raised whenever a change of rules changes findings; recorded with every game.
VERSION = "5"


class RulesJudge:
    """Judge by rules.

    `tolerance` says which times are equal; `check` may interrupt it between two rows.
    """

    def __init__(self, tolerance: Tolerance = TOLERANCE, check: Check = never_stop) -> None:
        self.tolerance = tolerance
        self.check = check

    @property
    def name(self) -> str:
        return NAME

    @property
    def version(self) -> str:
        return VERSION

    def judge(self, given: JudgeInput) -> Judged | Unjudged:
        """Return every difference by row number; Unjudged if there is no note."""
        if not given.note.strip():
            return Unjudged(("the note is empty",))
        findings = _Game(given, self.tolerance, self.check).findings()
        return Judged(tuple(findings), len(given.series))


class _Game:
    def __init__(self, given: JudgeInput, tolerance: Tolerance, check: Check) -> None:
        self.given, self.tolerance, self.check = given, tolerance, check
        reading = CaseReading(given)
        self.ruling = Ruling(reading, tolerance)
        self.pairing: Pairing = pair_rows(reading, tolerance)
        #: Rows of matched occurrences, which differ from every unpaired occurrence.
        self._settled = {r.row for pair in self.pairing.pairs if is_linked(*pair) for r in pair}

    def findings(self) -> list[JudgedFinding]:
        found = [f for a, b in self.pairing.pairs for f in self._judge_pair(a, b)]
        found += [self._judge_duplicate(row, pattern) for row, pattern in self.pairing.copies]
        found += [self._judge_unpaired(row) for row in self.pairing.alone]
        return sorted(found, key=_compute_sort_key)

    def _judge_pair(self, a: CandidateRow, b: CandidateRow) -> list[JudgedFinding]:
        self.check()
        if self.ruling.is_unsupported(a) and self.ruling.is_unsupported(b):
            reason = (
                "neither the note nor the record has anything like it, and both timelines have it"
            )
            return [
                self._finding(
                    FindingType.SHARED_UNSUPPORTED,
                    Decision(None, reason, sought=True),
                    a,
                    b,
                    verdict=Verdict.NEITHER,
                )
            ]
        found = []
        if contradict_values(a, b):
            found.append(self._finding(FindingType.VALUE, self.ruling.decide_value(a, b), a, b))
        if not self.tolerance.equal(a.time, b.time):
            found.append(self._finding(FindingType.TIMING, self.ruling.decide_timing(a, b), a, b))
        # A pair is reported once: the decided difference, or else the first.
        return sorted(found, key=lambda judged: not judged.finding.verdict.decisive)[:1]

    def _judge_unpaired(self, row: CandidateRow) -> JudgedFinding:
        self.check()
        kind = FindingType.A_ONLY if self._side(row) is Side.A else FindingType.B_ONLY
        others = [
            r
            for r in (self.given.b_rows if kind is FindingType.A_ONLY else self.given.a_rows)
            if r.row not in self._settled
        ]
        relation = (
            Relation.ADDED_DETAIL if self.ruling.is_detail(row, others) else Relation.NOVEL_EVENT
        )
        return self._make_one_sided(kind, self.ruling.decide_unpaired(row, others), row, relation)

    def _judge_duplicate(self, row: CandidateRow, pattern: CandidateRow) -> JudgedFinding:
        return self._make_one_sided(
            FindingType.DUPLICATE, self.ruling.decide_duplicate(row, pattern), row, None
        )

    def _make_one_sided(
        self, kind: FindingType, decision: Decision, row: CandidateRow, relation: Relation | None
    ) -> JudgedFinding:
        """Return the finding for a row that only one timeline has.

        `decision.right` is the row if its timeline is right; `decision.rejected` means that the
        other is.
        """
        sides = (row, None) if self._side(row) is Side.A else (None, row)
        verdict = Verdict.UNCLEAR
        if decision.right is not None or decision.rejected:
            side = self._side(row)
            verdict = Verdict(side if decision.right is not None else side.other)
        return self._finding(kind, decision, *sides, verdict=verdict, relation=relation)

    def _finding(
        self,
        kind: FindingType,
        decision: Decision,
        a: CandidateRow | None,
        b: CandidateRow | None,
        *,
        verdict: Verdict | None = None,
        relation: Relation | None = None,
    ) -> JudgedFinding:
        if verdict is None:
            verdict = (
                Verdict.UNCLEAR if decision.right is None else Verdict(self._side(decision.right))
            )
        span, table = decision.quote, decision.table
        cited = read_table_evidence(table, self.given.by_series, self.given.anchor)
        grounding = {
            (True, True): Grounding.BOTH,
            (True, False): Grounding.NOTE,
            (False, True): Grounding.TABLE,
        }.get((span is not None, cited.series is not None), Grounding.NONE)
        rows = [r for r in (a, b) if r is not None]
        finding = Finding(
            type=kind,
            verdict=verdict,
            polarity=FindingPolarity.PRESENT
            if any(not r.source.polarity.denied for r in rows)
            else FindingPolarity.ABSENT,
            a_event=a.event if a else None,
            a_time=a.time if a else None,
            a_row=a.row if a else None,
            b_event=b.event if b else None,
            b_time=b.time if b else None,
            b_row=b.row if b else None,
            note_evidence=self.given.note[span[0] : span[1]]
            if span
            else NOT_FOUND
            if decision.sought
            else None,
            table_evidence=cited.text,
            grounding=grounding,
            relation=relation,
            reason=decision.reason,
        )
        return JudgedFinding(finding, span, cited.series)

    def _side(self, row: CandidateRow) -> Side:
        return self.given.by_row[row.row][0]


def _compute_sort_key(judged: JudgedFinding) -> tuple[int, str]:
    rows = [n for n in (judged.finding.a_row, judged.finding.b_row) if n is not None]
    return min(rows), "one-sided" if judged.finding.type.one_sided else judged.finding.type
