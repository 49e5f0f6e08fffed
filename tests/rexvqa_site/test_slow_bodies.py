"""Bodies that stop coming, or come a byte at a time, do not keep their connections."""

from __future__ import annotations

import socket

import pytest

from rexvqa_site.slow_bodies import FEW_BYTES, SILENCE, SLOWEST, Lateness, Seen, Watch, cutting, is_to_cut, seen_of


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_body_is_late_after_a_silence_and_slow_after_its_time() -> None:
    clock = Clock()
    told: list[Lateness] = []
    watch = Watch(told.append, clock)
    watch.look()
    with watch.over(10 * SLOWEST):
        clock.now = SILENCE - 1
        watch.look()
        clock.now = SILENCE
        watch.look()
        clock.now = SILENCE + 10
        watch.look()
    watch.look()
    assert told == [Lateness(), Lateness(SILENCE + 10)]


@pytest.mark.parametrize(
    ("seen", "late", "cut"),
    [
        (Seen(SILENCE, SILENCE, 3), Lateness(), True),  # half sent
        (Seen(SILENCE, 0.1, 3), Lateness(), False),  # it comes, slowly
        (Seen(1, SILENCE, 3), Lateness(), False),  # a download on a slow line
        (Seen(70, 0.1, 3), Lateness(60), True),  # a byte now and then
        (Seen(70, 0.1, FEW_BYTES), Lateness(60), False),  # a large upload beside it
        (Seen(50, 0.1, 3), Lateness(60), False),  # it began later
    ],
)
def test_which_connections_are_cut(seen: Seen, late: Lateness, cut: bool) -> None:
    assert is_to_cut(seen, late) is cut


@pytest.mark.skipif(not hasattr(socket, "TCP_INFO"), reason="the system tells nothing of connections")
def test_only_connections_to_the_own_port_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rexvqa_site.slow_bodies.SILENCE", 0.0)
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_server(("127.0.0.1", 0)) as other:
        port = server.getsockname()[1]
        with (
            socket.create_connection(("127.0.0.1", port)) as client,
            socket.create_connection(other.getsockname()) as there,
        ):
            mine, _address = server.accept()
            theirs, _address = other.accept()
            with mine, theirs:
                client.sendall(b"abc")
                assert mine.recv(3) == b"abc"
                assert seen_of(mine).n_received == 3
                cutting(port)(Lateness())
                assert client.recv(1) == b""
                theirs.sendall(b"still there")
                assert there.recv(5) == b"still"
