"""Which backups stay: the newest of each day, week and month."""

import os
import time
from datetime import datetime

import pytest

from config.backups.manifest import FILE_NAME
from config.backups.retention import (
    KEEP_ALL,
    Keep,
    delete_abandoned,
    delete_expired,
    find_backups,
    select_kept,
)


def at(text: str) -> datetime:
    return datetime.strptime(text, "%Y-%m-%d %H")


#: 2026-11-27 is a Friday of ISO week 48; the 22nd is the Sunday of week 47.
TIMES = [
    at("2026-09-30 02"),
    at("2026-10-31 02"),
    at("2026-11-15 02"),
    at("2026-11-22 02"),
    at("2026-11-25 02"),
    at("2026-11-26 02"),
    at("2026-11-27 02"),
    at("2026-11-27 14"),
]


@pytest.mark.parametrize(
    ("keep", "kept"),
    [
        (Keep(daily=1), ["2026-11-27 14"]),
        (Keep(daily=3), ["2026-11-25 02", "2026-11-26 02", "2026-11-27 14"]),
        # Days without a backup do not count.
        (Keep(daily=4), ["2026-11-22 02", "2026-11-25 02", "2026-11-26 02", "2026-11-27 14"]),
        (Keep(weekly=2), ["2026-11-22 02", "2026-11-27 14"]),
        (Keep(weekly=3), ["2026-11-15 02", "2026-11-22 02", "2026-11-27 14"]),
        (Keep(monthly=3), ["2026-09-30 02", "2026-10-31 02", "2026-11-27 14"]),
        (
            Keep(daily=2, weekly=2, monthly=2),
            ["2026-10-31 02", "2026-11-22 02", "2026-11-26 02", "2026-11-27 14"],
        ),
        (Keep(), ["2026-11-27 14"]),
    ],
)
def test_the_newest_of_each_period_is_kept(keep, kept):
    assert select_kept(TIMES, keep) == set(map(at, kept))


def test_without_backups_nothing_is_kept():
    assert select_kept([], Keep(daily=7)) == set()


def test_weeks_are_iso_weeks_around_new_year():
    # 2026-12-31 and 2027-01-01 are in week 53 of 2026.
    times = [at("2026-12-31 02"), at("2027-01-01 02"), at("2027-01-04 02")]
    assert select_kept(times, Keep(weekly=2)) == set(times[1:])


def make(folder, name, manifest=True):
    (folder / name).mkdir(parents=True)
    if manifest:
        (folder / name / FILE_NAME).write_text("{}")
    return folder / name


def test_only_finished_backups_are_found_and_deleted(tmp_path):
    old, new = (make(tmp_path, f"occurrent-202611{day}T020000Z") for day in (26, 27))
    unfinished = make(tmp_path, "occurrent-20261125T020000Z", manifest=False)
    foreign = make(tmp_path, "photos")
    assert list(find_backups(tmp_path).values()) == [old, new]
    assert delete_expired(tmp_path, KEEP_ALL) == []
    assert delete_expired(tmp_path, Keep(daily=1)) == [old.name]
    assert sorted(tmp_path.iterdir()) == sorted([new, unfinished, foreign])


def test_what_a_killed_backup_left_goes_after_a_day(tmp_path):
    old, new = (make(tmp_path, f".occurrent-202611{day}T020000Z.partial") for day in (26, 27))
    yesterday = time.time() - 25 * 3600
    os.utime(old, (yesterday, yesterday))
    delete_abandoned(tmp_path)
    assert list(tmp_path.iterdir()) == [new]


def test_a_missing_folder_has_no_backups(tmp_path):
    assert find_backups(tmp_path / "none") == {}
