"""Messages of a browser, or of somebody who plays one: what is wrong with them changes nothing."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from browser_window import SCENE, Person, until

from pinvgcn.app.labels import LabelBook
from pinvgcn.app.messages import HEARD, camera_of, choice, click_of, number, numbers, screen
from pinvgcn.errors import LabelError

ODD: list[Any] = [
    None, True, -1, 0, 2**63 - 1, 1e308, math.nan, math.inf, -math.inf, "", "x" * 5_000, "\x00", "../../etc",
    [], [1], [1, 2], [math.nan] * 3, [1e30] * 3, [[1, 2], [3, 4]], {"a": 1}, b"\xff", [None, None],
    ["a", "b"], ["1", "2", "3"], [[1], [2, 3], 4],
]  # fmt: skip


@pytest.mark.parametrize("value", [*ODD, [1, 2, "3x"], [1, 2, 3, 4]], ids=repr)
def test_only_three_finite_numbers_are_three_finite_numbers(value: Any) -> None:
    with pytest.raises(LabelError, match=r"3 numbers from -1e\+09 to 1e\+09"):
        numbers(value, 3, "A place")


def test_what_is_right_goes_through() -> None:
    assert numbers((1, 2.5, -3), 3, "A place").tolist() == [1, 2.5, -3]
    assert number(2, "A size", low=1, high=3) == 2
    assert choice("a", ["a", "b"], "A word") == "a"
    assert screen((0.25, 1)).tolist() == [0.25, 1]
    for wrong in (4, "2 ", None):
        with pytest.raises(LabelError):
            number(wrong, "A size", low=1, high=3)
    with pytest.raises(LabelError, match="one of a, b"):
        choice("c", ["a", "b"], "A word")
    event = SimpleNamespace(ray_origin=(0, 0, 0), ray_direction=(0, 0, 0), screen_pos=(0, 0))
    with pytest.raises(LabelError, match="direction"):
        click_of(event)
    seen = SimpleNamespace(wxyz=(0, 0, 0, 0), position=(0, 0, 0), fov=1.0, aspect=1.0)
    with pytest.raises(LabelError, match="look somewhere"):
        camera_of(SimpleNamespace(camera=seen))
    seen.wxyz = (1, 0, 0, 0)
    assert camera_of(SimpleNamespace(camera=seen)).rotation.tolist() == np.eye(3).tolist()
    seen.fov = 4.0
    with pytest.raises(LabelError, match="field of view"):
        camera_of(SimpleNamespace(camera=seen))


@pytest.fixture
def connect(running: Any) -> Callable[[], Any]:
    """Opens connections as the page does."""
    client = pytest.importorskip("websockets.sync.client", reason="websockets is not installed")
    import viser

    address = running.address.replace("http://", "ws://")
    protocol = [f"viser-v{viser.__version__}"]
    return lambda: client.connect(
        address, subprotocols=protocol, max_size=None, open_timeout=30, close_timeout=1
    )


def test_nonsense_and_too_much_close_their_connection_and_nothing_else(connect: Callable[[], Any]) -> None:
    from websockets.exceptions import ConnectionClosed

    with connect() as other:
        assert other.recv(timeout=30)
        for message in (b"nonsense", "text", bytes(60 * 1024 * 1024)):
            with connect() as bad:
                bad.recv(timeout=30)
                with pytest.raises(ConnectionClosed):
                    _until_it_closes(bad, message)
        other.ping().wait(timeout=30)
    with connect() as after:
        assert after.recv(timeout=30)


def _until_it_closes(connection: Any, message: bytes | str) -> None:
    connection.send(message)
    while True:
        connection.recv(timeout=30)


def camera(person: Person) -> dict[str, Any]:
    """The message that tells from where this person looks."""
    from viser.transforms import SO3

    seen = person.camera
    return {
        "type": "ViewerCameraMessage",
        "wxyz": SO3.from_matrix(seen.rotation).wxyz.tolist(),
        "position": seen.position.tolist(),
        "fov": seen.fov,
        "near": 0.01,
        "far": 1000.0,
        "image_height": 720,
        "image_width": SCENE,
        "look_at": [0.0, 0.0, 0.0],
        "up_direction": [0.0, 0.0, 1.0],
    }


def pointer(person: Person, point: int) -> dict[str, Any]:
    """The message of a click on a point."""
    ray = person.shown[point] - person.camera.position
    return {
        "type": "ScenePointerMessage",
        "event_type": "click",
        "ray_origin": person.camera.position.tolist(),
        "ray_direction": (ray / np.linalg.norm(ray)).tolist(),
        "screen_pos": [person.screen[point].tolist()],
        "modifier": None,
    }


def test_what_the_page_has_no_use_for_is_not_heard(running: Any, connect: Callable[[], Any]) -> None:
    """Of all kinds of messages that viser has handlers for, the page keeps those that are checked."""
    server = running.page._server
    heard = {kind.__name__ for kind in server._websock_server._incoming_handlers}
    assert heard == {"GuiUpdateMessage", "CommandTriggerMessage", "ScenePointerMessage"}
    with connect() as one:
        one.recv(timeout=30)
        person = Person(None, running.session.cloud.points)
        one.send(pytest.importorskip("msgspec").msgpack.encode(camera(person)))
        until(lambda: len(server.get_clients()) > 0, seconds=20, what="a client")
        client = next(iter(server.get_clients().values()))
        until(
            lambda: {kind.__name__ for kind in client._websock_connection._incoming_handlers} <= set(HEARD),
            seconds=20,
            what="the handlers of a client",
        )


def test_fuzzed_messages_of_all_kinds(running: Any, connect: Callable[[], Any], street: Any) -> None:
    """Every kind of message that viser knows, whole, with odd values, or with a field too few."""
    msgspec = pytest.importorskip("msgspec")
    from viser import _messages
    from websockets.exceptions import ConnectionClosed

    server, session = running.page._server, running.session
    person = Person(None, np.round(street.X, 3))
    handles = list(server.gui._gui_input_handle_from_uuid)
    commands = list(server.gui._command_handle_from_uuid)
    kinds = {kind.__name__: kind for kind in _messages.Message.get_subclasses()}
    rng = np.random.default_rng(0)
    before = len(session._journal.path.read_text().splitlines())

    def odd() -> Any:
        return ODD[int(rng.integers(len(ODD)))]

    def some(name: str) -> dict[str, Any]:
        fields = [field for field in kinds[name].__dataclass_fields__ if field != "owner"]
        message = {"type": name, **{field: odd() for field in fields}}
        if name == "ScenePointerMessage":
            message |= pointer(person, int(rng.integers(len(person.shown))))
            message["event_type"] = ["click", "rect-select"][int(rng.integers(2))]
            field = ["ray_origin", "ray_direction", "screen_pos", "modifier"][int(rng.integers(4))]
            message[field] = odd()
        if name == "ViewerCameraMessage":
            message |= camera(person)
            message[list(message)[int(rng.integers(1, len(message)))]] = odd()
        if name == "GuiUpdateMessage":
            inner = ["value", "value", "update_cb", "removed", "props", "is_button"][int(rng.integers(6))]
            message |= {"uuid": handles[int(rng.integers(len(handles)))], "updates": {inner: odd()}}
        if name == "CommandTriggerMessage" and rng.integers(2):
            message["uuid"] = commands[int(rng.integers(len(commands)))]
        if rng.integers(8) == 0:
            message.pop(list(message)[-1])
        return message

    often = ["ScenePointerMessage", "GuiUpdateMessage", "ViewerCameraMessage", "CommandTriggerMessage"]
    names = [*kinds, *(30 * often)]
    with connect() as other:
        other.recv(timeout=30)
        connection = connect()
        for name in names:
            try:
                encoded = msgspec.msgpack.encode(some(name))
            except (OverflowError, msgspec.ValidationError):
                continue
            try:
                connection.send(encoded)
            except ConnectionClosed:
                connection = connect()
        connection.close()
        other.ping().wait(timeout=30)
    for handle in server.gui._gui_input_handle_from_uuid.values():  # nothing but values has changed
        assert isinstance(handle._impl.update_cb, list)
        assert handle._impl.removed is False
    # what the journal has are actions that can be done, and nothing is half done
    lines = session._journal.path.read_text().splitlines()
    assert len(lines) >= before
    book = LabelBook(len(session.cloud))
    for line in lines[1:]:
        book.do(json.loads(line))
    # and a person can go on
    running.page.hands.clip(None)
    running.page.hands.use("point")
    running.page.hands.choose(session.view.classes[0].number)
    count = len(session.view.labelled)
    free = np.setdiff1d(np.flatnonzero(street.y == 3), session.view.labelled)
    with connect() as good:
        good.recv(timeout=30)
        good.send(msgspec.msgpack.encode(camera(person)))
        for point in free[::40].tolist():
            good.send(msgspec.msgpack.encode(pointer(person, point)))
        until(lambda: len(session.view.labelled) > count, seconds=20, what="a click after all that")
