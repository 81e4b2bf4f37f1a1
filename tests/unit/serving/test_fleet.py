"""Versions in service: warm before they answer, replaced without a failed request, and never by what can't be loaded."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from kickwheel.errors import ServiceUnavailable
from kickwheel.serving.fleet import CALIBRATION_FILE
from schemas.calibration import Calibration
from schemas.serving import Routing
from schemas.understanding import UnderstandReply, UnderstandRequest
from tests.unit.serving.serving_world import Scripted, World, routing, version, world


def calibration_folder(tmp_path: Path, *, bias: float, threshold: float) -> Path:
    """An artifact's folder with a calibration in it."""
    folder = tmp_path / "artifact"
    folder.mkdir(exist_ok=True)
    calibration = Calibration(
        student="old",
        temperature=1.0,
        bias=bias,
        threshold=threshold,
        target_accuracy=0.9,
        target_met=True,
        fitted_on="valid",
        rows=100,
        accuracy=0.8,
        ece_before=0.2,
        ece_after=0.02,
        adaptive_ece_before=0.2,
        adaptive_ece_after=0.02,
    )
    (folder / CALIBRATION_FILE).write_text(calibration.model_dump_json())
    return folder


def test_it_is_ready_when_the_versions_are_warm_and_not_before(tmp_path: Path) -> None:
    student = Scripted(lambda _text: ServiceUnavailable("still loading"))
    made = world(tmp_path, {"old": student})
    with made.client() as api:
        waiting = api.get("/readyz")
        assert waiting.status_code == 503
        assert "still loading" in waiting.json()["detail"]
        assert api.get("/healthz").status_code == 200
        assert api.post("/v1/understand", json={"text": "x"}).status_code == 503
    student.answer, student.closed = Scripted.answer, False
    with made.client() as api:
        assert api.get("/readyz").json() == {"status": "ready", "detail": ""}
        assert student.asked.count("warm up") >= 2
    assert student.closed


def test_without_a_routing_it_says_so(tmp_path: Path) -> None:
    with World(tmp_path, {}).client() as api:
        waiting = api.get("/readyz")
        assert waiting.status_code == 503
        assert "routing.json" in waiting.json()["detail"]


def test_versions_change_under_load_without_a_failed_request(tmp_path: Path) -> None:
    students = {name: Scripted(delay_s=0.02) for name in ("old", "new", "newer")}
    made = world(tmp_path, students)

    async def scenario() -> list[UnderstandReply]:
        service = made.service()
        await service.fleet.look()
        following = asyncio.create_task(service.fleet.follow())
        replies: list[UnderstandReply] = []

        async def caller(number: int) -> None:
            for call in range(60):
                request = UnderstandRequest(text=f"text {number} {call}", user=f"user-{number}")
                replies.append(await service.understand(request))
                await asyncio.sleep(0.005)

        async def changes() -> None:
            await asyncio.sleep(0.2)
            made.put(routing(2, "old", "new", challenger_share=0.5))
            await asyncio.sleep(0.4)
            made.put(routing(3, "new"))
            await asyncio.sleep(0.4)
            made.put(routing(4, "newer"))

        await asyncio.gather(changes(), *(caller(number) for number in range(8)))
        await asyncio.sleep(0.3)
        assert students["old"].closed
        assert students["new"].closed
        following.cancel()
        await service.close()
        return replies

    replies = asyncio.run(scenario())
    assert len(replies) == 8 * 60
    seen = [reply.model_version for reply in replies]
    assert set(seen) == {"old", "new", "newer"}
    assert seen[-1] == "newer"
    assert {reply.propensity for reply in replies if reply.arm == "challenger"} == {0.5}
    assert len(made.written.records) == len(replies)
    assert students["newer"].closed


def test_a_user_keeps_the_arm_and_the_version(tmp_path: Path) -> None:
    made = world(tmp_path, {"old": Scripted(), "new": Scripted()})
    made.put(routing(2, "old", "new", challenger_share=0.5))
    with made.client() as api:
        seen = {
            user: {api.post("/v1/understand", json={"text": f"{n}", "user": user}).json()["model_version"] for n in range(5)}
            for user in (f"user-{number}" for number in range(20))
        }
    assert all(len(versions) == 1 for versions in seen.values())
    assert {name for versions in seen.values() for name in versions} == {"old", "new"}


def test_a_version_that_cannot_be_had_changes_nothing_and_is_told(tmp_path: Path) -> None:
    made = world(tmp_path, {"old": Scripted(), "new": ServiceUnavailable("no such adapter")})

    async def scenario() -> None:
        fleet = made.fleet()
        await fleet.look()
        made.put(routing(2, "new"))
        await fleet.look()
        assert fleet.state is not None
        assert fleet.state.champion.version.name == "old"
        assert "no such adapter" in fleet.problem
        made.students["new"] = Scripted()
        await fleet.look()  # tried again, without a new revision
        assert fleet.state.routing.revision == 2
        assert fleet.problem == ""
        await fleet.close()

    asyncio.run(scenario())


def test_a_broken_file_leaves_what_is_in_service(tmp_path: Path) -> None:
    made = world(tmp_path)

    async def scenario() -> None:
        fleet = made.fleet()
        await fleet.look()
        made.path.write_text("{")
        await fleet.look()
        assert fleet.state is not None
        assert "routing.json" in fleet.problem
        await fleet.close()

    asyncio.run(scenario())


def test_a_share_changes_without_loading_anything(tmp_path: Path) -> None:
    students = {"old": Scripted(), "new": Scripted()}
    made = world(tmp_path, students)

    async def scenario() -> None:
        fleet = made.fleet()
        made.put(routing(2, "old", "new", challenger_share=0.1))
        await fleet.look()
        asked = len(students["new"].asked)
        made.put(routing(3, "old", "new", challenger_share=0.9))
        await fleet.look()
        assert fleet.state is not None
        assert fleet.state.routing.challenger_share == 0.9
        assert len(students["new"].asked) == asked
        await fleet.close()

    asyncio.run(scenario())


def test_a_calibration_that_does_not_hold_keeps_the_version_out(tmp_path: Path) -> None:
    made = world(tmp_path, {"old": Scripted(), "new": Scripted()})
    folder = calibration_folder(tmp_path, bias=0.0, threshold=0.5)
    (folder / CALIBRATION_FILE).write_text("{}")
    made.put(Routing(revision=2, champion=version("new", folder=str(folder))))
    with made.client() as api:
        assert api.get("/readyz").status_code == 503
        assert "calibration.json" in api.get("/readyz").json()["detail"]


def test_shadow_answers_are_recorded_and_never_shown(tmp_path: Path) -> None:
    students = {"old": Scripted(), "new": Scripted()}
    made = world(tmp_path, students)
    made.put(routing(2, "old", "new", shadow=True))
    with made.client() as api:
        replies = [api.post("/v1/understand", json={"text": f"{n}", "user": "ana", "session": "s"}).json() for n in range(5)]
    assert {reply["model_version"] for reply in replies} == {"old"}
    shown = [record for record in made.written.records if record.arm == "champion"]
    shadow = [record for record in made.written.records if record.arm == "shadow"]
    assert len(shown) == len(shadow) == 5
    assert {record.inference_id for record in shadow} == {f"{record.inference_id}.shadow" for record in shown}
    assert {(record.model_version, record.user, record.session) for record in shadow} == {("new", "ana", None)}
    assert {(record.experiment, record.latency_ms) for record in (*shown, *shadow)} == {("trial", 0.0)}


def test_a_shadow_that_fails_is_counted_and_disturbs_nobody(tmp_path: Path) -> None:
    students = {"old": Scripted(), "new": Scripted()}
    made = world(tmp_path, students)
    made.put(routing(2, "old", "new", shadow=True))
    with made.client() as api:
        students["new"].answer = lambda _text: ServiceUnavailable("down")
        assert api.post("/v1/understand", json={"text": "x"}).status_code == 200
    assert made.figure("kickwheel_shadow_answers_total", outcome="failed") == 1


@pytest.mark.parametrize("name", ["champion", "challenger"])
def test_operators_see_what_is_in_service(tmp_path: Path, name: str) -> None:
    made = world(tmp_path, {"old": Scripted(), "new": Scripted()})
    made.put(routing(2, "old", "new", challenger_share=0.25))
    with made.client() as api:
        state = api.get("/v1/versions").json()
    assert (state["revision"], state["challenger_share"], state["problem"]) == (2, 0.25, "")
    assert name in [one["role"] for one in state["versions"]]
