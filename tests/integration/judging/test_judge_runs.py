"""Judge runs on a real database.

Games, what is stored of an answer, unjudged games, a second round, and the command.
"""

from __future__ import annotations

from dataclasses import replace
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import DatabaseError, transaction

from accounts.models import Role
from adjudication.judge_runs import actions
from adjudication.judge_runs import progress as judge_progress
from adjudication.judge_runs.data import find_sources, input_digest, load_game
from adjudication.judging.config import JudgeConfig, SourceUnknown, parse_source
from adjudication.judging.input import Judged
from adjudication.judging.validation import validate_findings
from adjudication.management.commands.judge import Command
from adjudication.models import Comparison, Finding, Game, JudgeRun
from jobs.errors import PermanentFailure
from jobs.models import JobState
from tests import factories
from tests.unit.adjudication.judging.judge_games import find_row, make_raw
from tests.worlds.judged import (
    KEYS,
    FixedJudge,
    make_case,
    make_judged_run,
    make_judged_world,
    use_judge,
)
from timelines.domain import Polarity
from timelines.evaluation.values import SourceKey

pytestmark = pytest.mark.django_db(transaction=True)


def charges(run):
    """What each comparison's findings charge, without the labels."""
    rows = Finding.objects.filter(game__run=run).values_list(
        "game__comparison_id", "game__swapped", "subject_sha256", "category", "charged_first"
    )
    return {(c, s): {r[2:] for r in rows if r[:2] == (c, s)} for c, s, *_ in rows}


def test_every_pair_of_sources_of_every_case_is_a_game():
    world = make_judged_world(cases=2)
    assert (
        Game.objects.filter(run=world.run, state=JobState.SUCCEEDED, outcome="judged").count()
        == 2 * 3
    )
    first = Comparison.objects.filter(encounter=world.encounters[0]).order_by("pk")
    assert [(c.first.source, c.second.source) for c in first] == [
        ("author:vega", "rules-orion"), ("author:vega", "llm-lyra"), ("rules-orion", "llm-lyra")
    ]  # fmt: skip
    judged_again = make_judged_run(world.dataset)
    assert Comparison.objects.count() == 6, "comparisons are shared by judge runs"
    assert charges(judged_again) == charges(world.run)


def test_findings_are_stored_with_entries_span_series_and_charge():
    world = make_judged_world(cases=1)
    game = Game.objects.get(
        run=world.run,
        comparison__first__source="author:vega",
        comparison__second__source="rules-orion",
    )
    by_kind = {(f.type, f.verdict): f for f in game.findings.all()}
    assert len(by_kind) == 9
    fever = next(f for f in game.findings.all() if f.a_event == "fever")
    first = fever.a_entry if game.a_is_first else fever.b_entry
    assert first.timeline.source == "author:vega"
    assert first.time == -72
    assert (
        world.encounters[0].notes.get().text[fever.note_start : fever.note_end]
        == "Fever for three days"
    )
    # The first timeline was judged right: the second is charged with a wrong time.
    assert (fever.category, fever.charged_first) == ("wrong_time", False)
    value = next(f for f in game.findings.all() if f.table_evidence)
    assert value.series.event == "lab:lactate::"
    assert value.category == "wrong_value"
    undecided = game.findings.get(verdict="UNCLEAR")
    assert (undecided.category, undecided.charged_first) == ("", None)
    assert game.series_supplied == 3
    assert game.series_omitted == 0
    assert len(game.input_sha256) == 64


def test_evidence_is_stored_with_its_series_however_the_name_is_spaced():
    dataset = factories.make_dataset()
    encounter = make_case(dataset, "one")
    row = factories.make_row(encounter, "chart:pain  level::", 1.0, value="3")
    series = factories.make_series(encounter, "chart:pain  level::", [row])

    class Citing(FixedJudge):
        def judge(self, given):
            first, second = (find_row(given, "fever", first=f) for f in (True, False))
            evidence = {"table_evidence": "chart:pain level:: = 3 @ 1h", "grounding": "TABLE"}
            raw = make_raw(given, "TIMING", first, second, "UNCLEAR", **evidence)
            return Judged(tuple(validate_findings([raw], given)), len(given.series))

    run = make_judged_run(dataset, Citing())
    assert set(Finding.objects.filter(game__run=run).values_list("series", flat=True)) == {
        series.pk
    }


def test_the_swapped_rerun_charges_the_same():
    world = make_judged_world(cases=1, swap=True)
    assert world.run.games.count() == 6
    for comparison in Comparison.objects.all():
        straight, swapped = (
            Game.objects.get(run=world.run, comparison=comparison, swapped=s) for s in (False, True)
        )
        assert straight.a_is_first is not swapped.a_is_first
        assert straight.input_sha256 == swapped.input_sha256
        found = charges(world.run)
        assert found[(comparison.pk, False)] == found[(comparison.pk, True)]


def test_a_game_without_an_answer_is_unjudged_and_can_be_judged_again():
    dataset = factories.make_dataset()
    make_case(dataset, "one")
    admin = factories.make_user(dataset.study, Role.ADMIN)
    run = make_judged_run(dataset, FixedJudge(refuse=frozenset({6, 7})))
    unjudged = run.games.filter(actions.UNJUDGED)
    assert unjudged.count() == 3
    assert {g.unjudged_reasons[0] for g in unjudged} == {
        "attempt 1: the answer must be one JSON object"
    }
    assert not Finding.objects.exists()
    assert actions.judge_failed_again(run=run, by=admin) == 3
    with use_judge(FixedJudge()):
        for game in run.games.all():
            assert actions.execute_game(game.pk) == JobState.SUCCEEDED
    assert run.games.filter(outcome="judged", rounds=1, unjudged_reasons=[]).count() == 3
    assert Finding.objects.exists()


def make_unjudged_run():
    """A run of three games without an answer, and its admin."""
    dataset = factories.make_dataset()
    make_case(dataset, "one")
    return make_judged_run(dataset, FixedJudge(refuse=frozenset({6, 7}))), factories.make_user(
        dataset.study, Role.ADMIN
    )


class Broken(FixedJudge):
    def judge(self, given):
        raise PermanentFailure("the server refuses the key")


def test_a_retry_that_fails_for_another_cause_is_not_called_unjudged():
    run, admin = make_unjudged_run()
    assert judge_progress.count_games([run])[run.pk].unjudged == 3
    actions.judge_failed_again(run=run, by=admin)
    assert not run.games.exclude(outcome="", unjudged_reasons=[]).exists(), (
        "nothing of the earlier round is shown while it waits"
    )
    with use_judge(Broken()):
        for game in run.games.all():
            assert actions.execute_game(game.pk) == JobState.FAILED
    totals = judge_progress.count_games([run])[run.pk]
    assert (totals.failed, totals.unjudged) == (3, 0)
    errors = StringIO()
    with pytest.raises(CommandError):
        Command(stdout=StringIO(), stderr=errors)._report(run)
    assert errors.getvalue().count("one: failed: ") == 3
    assert "the server refuses the key" in errors.getvalue()


@pytest.mark.parametrize("end", ["cancel", "lose"])
def test_an_outcome_is_stored_with_the_end_of_its_attempt_alone(end):
    """Nothing of an interrupted attempt or of an earlier round remains."""
    run, admin = make_unjudged_run()
    actions.judge_failed_again(run=run, by=admin)
    game = run.games.first()

    class Interrupted(FixedJudge):
        def judge(self, given):
            if end == "cancel":
                actions.cancel_judging(run=run, by=admin)
            else:
                Game.objects.filter(pk=game.pk).update(fence=99)
            return super().judge(given)

    with use_judge(Interrupted()):
        state = actions.execute_game(game.pk)
    game.refresh_from_db()
    if end == "cancel":  # its answer came before its next look
        assert (state, game.outcome) == (JobState.SUCCEEDED, "judged")
        assert set(run.games.exclude(pk=game.pk).values_list("state", "outcome")) == {
            ("cancelled", "")
        }
    else:
        assert (state, game.state, game.outcome, game.findings.count()) == (None, "running", "", 0)


def test_the_database_refuses_an_outcome_that_is_not_of_its_end():
    run, _ = make_unjudged_run()
    for state, outcome in [
        ("queued", "unjudged"),
        ("cancelled", "unjudged"),
        ("failed", "judged"),
        ("queued", "judged"),
    ]:
        with pytest.raises(DatabaseError), transaction.atomic():
            Game.objects.filter(run=run).update(state=state, outcome=outcome)


def test_a_paused_run_waits():
    dataset = factories.make_dataset()
    make_case(dataset, "one")
    admin = factories.make_user(dataset.study, Role.ADMIN)
    with use_judge(FixedJudge()):
        run = actions.start_judging(
            study=dataset.study, datasets=[dataset], sources=KEYS, by=admin, tell_workers=False
        )
        actions.pause_judging(run=run, by=admin)
        game = run.games.first()
        assert actions.execute_game(game.pk) is None
        actions.resume_judging(run=run, by=admin)
        assert actions.execute_game(game.pk) == JobState.SUCCEEDED
        assert actions.execute_game(game.pk) is None, "what is judged is not judged twice"


def test_what_is_judged_depends_on_the_run_and_not_on_the_labels():
    world = make_judged_world(cases=1)
    game = world.run.games.first()
    digest = load_game(game, JudgeConfig()).input_sha256
    game.seed += 1
    assert load_game(game, JudgeConfig()).input_sha256 == digest == game.input_sha256
    assert load_game(game, JudgeConfig(uid_table=True)).input_sha256 != digest


def test_whatever_a_judge_reads_changes_the_digest_of_its_input():
    given = load_game(make_judged_world(cases=1).run.games.first(), JudgeConfig()).given
    first, *rest = given.a_rows

    def digest(uid_table=False, rows=given.rows, **changed):
        row = replace(first, source=replace(first.source, **changed))
        return input_digest(
            replace(given, a_rows=(row, *rest), rows=rows), JudgeConfig(uid_table=uid_table)
        )

    assert digest() == digest(lower=1.0) == input_digest(given.swapped(), JudgeConfig())
    assert digest(uid_table=True) != digest(uid_table=True, lower=1.0)
    kinds = [
        digest(),
        digest(start=1, end=2),
        digest(polarity=Polarity.ABSENT),
        digest(uid="beef"),
        digest(rows=given.rows[1:]),
    ]
    assert len(set(kinds)) == len(kinds)


def test_the_database_refuses_what_the_protocol_forbids():
    world = make_judged_world(cases=1)
    finding = (
        Finding.objects.filter(game__run=world.run, type="TIMING", verdict="A").first()
        or Finding.objects.filter(type="TIMING").first()
    )
    for change in ({"verdict": "BOTH"}, {"reason": "another"}, {"a_time": 5}):
        with pytest.raises(DatabaseError), transaction.atomic():
            Finding.objects.filter(pk=finding.pk).update(**change)
    copy = Finding.objects.get(pk=finding.pk)
    for wrong in (
        {"type": "SHARED_UNSUPPORTED", "verdict": "A"},
        {"type": "A_ONLY", "relation": "novel_event"},
        {"relation": "novel_event"},
        {"verdict": "UNCLEAR"},
    ):
        values = {
            f.attname: getattr(copy, f.attname)
            for f in Finding._meta.concrete_fields
            if f.name not in ("id", "public_id")
        }
        with pytest.raises(DatabaseError), transaction.atomic():
            Finding.objects.create(**{**values, "ordinal": 99, **wrong})


def test_no_prompt_names_a_source():
    from adjudication.judging.prompted.judge import render_game

    world = make_judged_world(cases=1)
    for game in world.run.games.all():
        for uid_table in (False, True):
            given = load_game(game, JudgeConfig(uid_table=uid_table)).given
            words = " ".join(m.content for m in render_game(given).messages)
            assert "fever" in words
            assert not [
                key.source
                for key in KEYS
                if key.source in words or key.source.split(":")[-1] in words
            ]


def test_what_cannot_be_judged_is_refused_by_name():
    dataset = factories.make_dataset()
    make_case(dataset, "one")
    study = dataset.study
    with pytest.raises(actions.JudgingRefused, match="at least two sources"):
        actions.start_judging(study=study, datasets=[dataset], sources=KEYS[:1], by=None)
    with pytest.raises(
        SourceUnknown, match="nobody@revised; there are: author:vega@revised, llm-lyra@revised"
    ):
        actions.start_judging(
            study=study,
            datasets=[dataset],
            sources=[KEYS[0], SourceKey("nobody", "revised")],
            by=None,
        )
    with pytest.raises(actions.JudgingRefused, match="another study"):
        actions.start_judging(
            study=factories.make_study(), datasets=[dataset], sources=KEYS, by=None
        )


@pytest.mark.parametrize(
    ("text", "kind", "alternative"),
    [
        ("rules", "revised", 1),
        ("rules@text-only", "text_only", 1),
        ("rules@revised#2", "revised", 2),
    ],
)
def test_sources_are_read_as_they_are_written(text, kind, alternative):
    known = [
        SourceKey("rules", "text_only"),
        SourceKey("rules", "revised"),
        SourceKey("rules", "revised", 2),
    ]
    assert parse_source(text, known) == SourceKey("rules", kind, alternative)
    with pytest.raises(
        SourceUnknown, match="there are: rules@text_only, rules@revised, rules@revised#2"
    ):
        parse_source("rule", known)


def test_the_command_judges_and_reports():
    dataset = factories.make_dataset(name="cohort")
    make_case(dataset, "one")
    assert [k.source for k in find_sources([dataset])] == ["author:vega", "llm-lyra", "rules-orion"]
    out = StringIO()
    with use_judge(FixedJudge()):
        call_command(
            "judge",
            dataset=["cohort"],
            sources="author:vega,rules-orion",
            inline=True,
            swap=True,
            stdout=out,
        )
        assert "2 of 2 games judged" in out.getvalue()
        assert "4 TIMING" not in out.getvalue()
        assert "2 DUPLICATE" in out.getvalue()
        call_command(
            "judge",
            dataset=["cohort"],
            sources="author:vega,rules-orion",
            inline=True,
            swap=True,
            missing=True,
            stdout=out,
        )
        assert "judged before" in out.getvalue()
    errors = StringIO()
    with (
        use_judge(FixedJudge(refuse=frozenset({6, 7}))),
        pytest.raises(CommandError, match="1 of 1 games failed or are unjudged"),
    ):
        call_command(
            "judge",
            dataset=["cohort"],
            sources="author:vega,rules-orion",
            inline=True,
            stdout=StringIO(),
            stderr=errors,
        )
    assert "one: unjudged: attempt 1" in errors.getvalue()
    with pytest.raises(CommandError, match="no timeline has the source 'x'"):
        call_command("judge", dataset=["cohort"], sources="x,y", stdout=StringIO())


def test_what_is_missing_goes_on_where_a_judge_run_was_left_and_only_then_starts_anew():
    dataset = factories.make_dataset(name="cohort")
    for case in ("one", "two"):
        make_case(dataset, case)

    def missing(**options):
        out = StringIO()
        asked = {
            "dataset": ["cohort"],
            "sources": "author:vega,rules-orion",
            "missing": True,
            **options,
        }
        call_command("judge", **asked, stdout=out)
        return out.getvalue()

    with use_judge(FixedJudge()):
        assert "1 of 1 games judged" in missing(cases=["one"], inline=True)
        assert "2 games of" in missing()
        left = JudgeRun.objects.latest("created_at")
        assert actions.execute_game(left.games.first().pk) is JobState.SUCCEEDED
        assert missing() == f"under way: judge run {left.public_id}\n"
        assert "2 of 2 games judged" in missing(inline=True)
        assert missing(inline=True) == f"judged before: judge run {left.public_id}\n"
        assert missing(cases=["one"], inline=True) == f"judged before: judge run {left.public_id}\n"
    with use_judge(FixedJudge(version="2")):
        assert "2 of 2 games judged" in missing(inline=True)
    assert JudgeRun.objects.count() == 3
