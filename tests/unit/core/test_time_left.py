"""Time left by the present pace."""

from __future__ import annotations

from kickwheel.time_left import TimeLeft


def test_work_that_was_taken_up_is_told_by_its_own_pace() -> None:
    left = TimeLeft()
    assert left.estimate(900, 1000, now=5.0) is None  # 900 steps were done by a process that was killed
    assert left.estimate(901, 1000, now=7.0) == 198.0
    assert left.estimate(1000, 1000, now=9.0) == 0.0


def test_a_pace_that_changes_is_followed() -> None:
    left = TimeLeft(window_s=10)
    for second in range(11):
        left.estimate(second, 1000, now=float(second))
    for second in range(11, 31):
        found = left.estimate(10 + 10 * (second - 10), 1000, now=float(second))
    assert found == (1000 - 210) / 10
