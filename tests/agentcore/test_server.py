"""The server: connections, sizes, concurrency, start and end, and the controls."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from base64 import urlsafe_b64encode
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median
from typing import Any
from urllib.parse import urlsplit

import pytest
from botocore.loaders import Loader

from memkit.testing.agentcore import Emulator, LoggedRequest, RequestLog, VirtualClock
from memkit.testing.agentcore.command import serve
from memkit.testing.agentcore.log import MOST_BYTES, MOST_REQUESTS
from memkit.testing.agentcore.members import new_members
from memkit.testing.agentcore.server import LARGEST_BODY
from tests.agentcore.bench import BIRTH, Bench, Refused, ask, event_path, said

SOURCE = Path(__file__).parents[2] / "src"


def address(emulator: Emulator) -> tuple[str, int]:
    """Host and port."""
    parts = urlsplit(emulator.endpoint_url)
    return parts.hostname or "", parts.port or 0


def test_a_connection_is_kept(bench: Bench) -> None:
    """Many requests go over one connection, refusals among them."""
    connection = http.client.HTTPConnection(*address(bench.emulator), timeout=5)
    connection.connect()
    kept = connection.sock
    for path, status in (("/memories/", 200), ("/nothing", 404), ("/memories/", 200)):
        connection.request("POST", path, b"{}")
        answer = connection.getresponse()
        assert answer.status == status
        assert int(answer.headers["Content-Length"]) == len(answer.read())
    assert connection.sock is kept
    connection.close()


def test_a_request_above_ten_megabytes(bench: Bench) -> None:
    """It is refused with 413 and HTML, which boto3 shows as the code 413."""
    large = [{"blob": "x" * 1_000_000}] * 11
    with Refused("413"):
        bench.event(payload=large)
    assert bench.event(payload=large[:9])


@pytest.mark.parametrize(
    "headers",
    [
        {"Transfer-Encoding": "chunked"},
        {"Content-Length": "-1"},
        {"Content-Length": "x"},
        {"Content-Length": "9" * 30},
    ],
    ids=range(4),
)
def test_a_length_that_is_none(agentcore: Emulator, headers: dict[str, str]) -> None:
    """A body whose length is not known is refused and the connection closed."""
    connection = http.client.HTTPConnection(*address(agentcore), timeout=5)
    connection.putrequest("POST", "/memories/")
    for name, value in headers.items():
        connection.putheader(name, value)
    connection.endheaders()
    assert connection.sock is not None
    connection.sock.shutdown(socket.SHUT_WR)
    answer = connection.getresponse()
    assert answer.status in {411, 413}
    answer.read()
    connection.close()


def test_clients_that_go_away(bench: Bench) -> None:
    """Half a request, or none, harms nobody."""
    host_and_port = address(bench.emulator)
    for sent in (
        b"",
        b"POST /memor",
        b"POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\nab",
        b"\0\r\n\r\n",
    ):
        with socket.create_connection(host_and_port, timeout=5) as lonely:
            lonely.sendall(sent)
    assert bench.event()


def test_many_clients_at_once(bench: Bench) -> None:
    """Eight threads write at the same time; nothing is lost or doubled."""

    def write(worker: int) -> None:
        for number in range(25):
            bench.event(f"{worker}-{number}", at=number)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(8)))
    paginator = bench.clients.data.get_paginator("list_events")
    asked = {"memoryId": bench.memory_id, "actorId": "ann", "sessionId": "s1"}
    ids = [event["eventId"] for page in paginator.paginate(**asked) for event in page["events"]]
    assert len(ids) == len(set(ids)) == 200
    assert ids == sorted(ids, reverse=True)


def test_one_client_waits_not_for_another(bench: Bench) -> None:
    """A slow answer holds up nobody else, and ends when the emulator stops."""
    bench.emulator.faults.add("ListActors", "slow", seconds=30)
    waiting = threading.Thread(target=lambda: _ignore(bench.list_actors))
    waiting.start()
    assert bench.event()
    bench.emulator.stop()
    waiting.join(5)
    assert not waiting.is_alive()


def _ignore(call: Any) -> None:
    with suppress(Exception):
        call()


def test_stopping_leaves_nothing(bench: Bench) -> None:
    """Afterwards the port is closed and no thread is left; twice is fine."""
    bench.event()
    host_and_port = address(bench.emulator)
    bench.emulator.stop()
    bench.emulator.stop()
    assert not [one for one in threading.enumerate() if "agentcore" in one.name]
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(host_and_port, timeout=1)


def test_the_port_is_on_loopback(agentcore: Emulator) -> None:
    """Nobody outside of this machine can reach it."""
    assert address(agentcore)[0] == "127.0.0.1"


def test_the_log_tells_what_arrived(bench: Bench) -> None:
    """Operation, parameters, credential scope, bytes and answer of each request."""
    bench.event("hello")
    with Refused("ValidationException"):
        bench.event(actorId="!")
    done, refused = bench.emulator.log.calls("CreateEvent")
    assert (done.region, done.service) == ("us-east-1", "bedrock-agentcore")
    assert done.params
    assert done.params["actorId"] == "ann"
    assert json.loads(done.body)["actorId"] == "ann"
    assert (done.status, refused.status, refused.error) == (201, 400, "ValidationException")
    assert bench.emulator.log.counts() == {"CreateMemory": 1, "CreateEvent": 2}


def test_the_log_has_an_end() -> None:
    """A server that runs for days keeps the latest requests only, by number and by bytes."""
    log = RequestLog()
    for number in range(MOST_REQUESTS + 5):
        log.add(_logged(str(number), b""))
    assert (len(log.all()), log.all()[0].target) == (MOST_REQUESTS, "5")
    log.clear()
    for number in range(3):
        log.add(_logged(str(number), bytes(MOST_BYTES // 2)))
    assert [one.target for one in log.all()] == ["1", "2"]


def _logged(target: str, body: bytes) -> LoggedRequest:
    return LoggedRequest(method="POST", target=target, headers={}, body=body, at=0)


def test_a_crash_is_an_answer_and_is_kept(bench: Bench) -> None:
    """What the emulator does wrong is a 500 and a traceback, not a hung client."""
    bench.event()
    bench.emulator.faults.add("ListEvents", "throttled", when=lambda _: bool(1 / 0))
    with Refused("ServiceException", "emulator failed"):
        bench.events()
    assert "ZeroDivisionError" in bench.emulator.crashes[0]
    bench.emulator.crashes.clear()


def test_reset_loses_all_but_clock_and_switches(bench: Bench) -> None:
    """A reset emulator is as new."""
    bench.emulator.switches.update(record_order="id")
    now = bench.emulator.clock.advance(60)
    bench.emulator.faults.add("*", "throttled")
    bench.emulator.reset()
    assert bench.clients.control.list_memories()["memories"] == []
    assert bench.emulator.switches.record_order == "id"
    assert bench.emulator.clock.now() == now


def of(fault: str, **options: Any) -> dict[str, Any]:
    """A rule with options."""
    return {"operation": "CreateEvent", "fault": fault, "options": options}


def control(emulator: Emulator, method: str, name: str, body: Any = None) -> Any:
    """The answer to a control request."""
    status, _, answer = ask(emulator, method, f"/_emu/{name}", body)
    assert status == 200, answer
    return json.loads(answer)[name]


def test_controls(bench: Bench) -> None:
    """Clock, switches, faults, log and reset can be reached from any language."""
    emulator = bench.emulator
    before = control(emulator, "GET", "clock")
    assert control(emulator, "POST", "clock", {"advance": 2}) == before + 2_000
    assert control(emulator, "POST", "switches", {"page_short": True})["page_short"] is True
    assert control(emulator, "GET", "switches") == {**vars(emulator.switches)}
    rule = {"operation": "CreateEvent", "fault": "throttled", "times": 1}
    rule |= {"match": {"actorId": "ann"}, "probability": 1, "options": {"message": "slow down"}}
    assert control(emulator, "POST", "faults", rule)["fault"] == "throttled"
    with Refused("ThrottledException", "slow down"):
        bench.event()
    assert control(emulator, "GET", "faults")[0]["applied"] == 1
    assert control(emulator, "DELETE", "faults") == []
    logged = control(emulator, "GET", "log")[-1]
    assert logged["error"] == "ThrottledException"
    assert json.loads(logged["body"])["actorId"] == "ann"
    assert "bedrock-agentcore" in logged["headers"]["authorization"]
    assert control(emulator, "DELETE", "log") == []
    assert control(emulator, "GET", "health")["status"] == "ok"
    assert control(emulator, "POST", "reset") is True


@pytest.mark.parametrize(
    ("method", "name", "body", "status"),
    [
        ("GET", "nothing", None, 404),
        ("POST", "clock", {}, 400),
        ("POST", "clock", {"advance": -1}, 400),
        ("POST", "clock", {"advance": "x"}, 400),
        ("POST", "clock", {"advance": 1e300}, 400),
        ("POST", "clock", {"advance": 10**400}, 400),
        ("POST", "switches", {"nothing": 1}, 400),
        ("POST", "faults", {"operation": "CreateEvent"}, 400),
        ("POST", "faults", {"operation": "CreateEvent", "fault": "slow", "extra": 1}, 400),
        ("POST", "faults", {"operation": "CreateEvent", "fault": "slow", "nth": "1"}, 400),
        ("POST", "faults", of("slow", seconds=1e300), 400),
        ("POST", "faults", of("clock_skew", seconds=1e15), 400),
        ("POST", "faults", of("partial_failure", code=1.5), 400),
    ],
)
def test_wrong_controls(
    agentcore: Emulator, method: str, name: str, body: Any, status: int
) -> None:
    """A control request that cannot be met says so."""
    answered, _, answer = ask(agentcore, method, f"/_emu/{name}", body)
    assert (answered, list(json.loads(answer))) == (status, ["error"])


@pytest.mark.parametrize("step", [0.001, 0.1, 0.2, 1.0])
def test_the_clock_keeps_whole_milliseconds(step: float) -> None:
    """From whatever start, so many milliseconds are so many."""
    for microsecond in range(0, 1_000_000, 1_000):
        clock = VirtualClock(datetime(2026, 3, 4, 5, 6, 7, microsecond, UTC))
        start = clock.now()
        for moved in range(1, 4):
            assert clock.advance(step) == start + moved * round(step * 1_000)


def test_the_log_is_read_while_requests_arrive() -> None:
    """Counting goes on however many arrive meanwhile."""
    log, stop = RequestLog(), threading.Event()

    def arrive() -> None:
        while not stop.is_set():
            log.add(LoggedRequest(method="GET", target="/", headers={}, body=b"", at=0))

    writers = [threading.Thread(target=arrive) for _ in range(4)]
    for writer in writers:
        writer.start()
    try:
        for _ in range(300):
            assert log.calls("CreateEvent") == []
            assert set(log.counts()) <= {"unknown"}
    finally:
        stop.set()
        for writer in writers:
            writer.join()


def test_what_is_nested_too_deeply_is_refused(bench: Bench) -> None:
    """Before it is kept, so that every later answer can be rendered."""
    deep: Any = "end"
    for _ in range(250):
        deep = [deep]
    with Refused("ValidationException"):
        bench.event(payload=[{"blob": deep}])
    assert bench.events() == []


@pytest.mark.parametrize("key", ["[" * 100_000, "{}", "[1"])
def test_no_token_is_too_odd(bench: Bench, key: str) -> None:
    """Whatever stands in a page token, it is refused in the service's words."""
    with Refused("ValidationException", "nextToken"):
        bench.events(nextToken=urlsafe_b64encode(key.encode()).decode())


def test_the_clock_moves_as_told() -> None:
    """It stands still, moves forward, and runs when it is let run."""
    clock = VirtualClock(datetime(2026, 1, 1, tzinfo=UTC))
    start = clock.now()
    assert clock.now() == start
    assert clock.advance(timedelta(hours=1)) == start + 3_600_000
    with pytest.raises(ValueError, match="forward"):
        clock.advance(-1)
    clock.run()
    clock.run()
    deadline = time.monotonic() + 5
    while clock.now() == start + 3_600_000:
        assert time.monotonic() < deadline
    clock.freeze()
    assert clock.now() == clock.now()


def test_botocore_has_no_members_unknown_here() -> None:
    """When a newer botocore adds members, this test says which are to be looked at."""
    assert new_members() == ()


def test_the_command_serves_until_it_is_told_to_stop() -> None:
    """It prints the address and how to get there, serves, and ends cleanly on SIGTERM."""
    command = [sys.executable, "-m", "memkit.testing.agentcore", "--port", "0", "--frozen"]
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdout
        lines = [process.stdout.readline() for _ in range(3)]
        url = lines[0].split()[-1]
        with urllib.request.urlopen(f"{url}/_emu/health", timeout=5) as answer:  # noqa: S310 - loopback
            assert json.load(answer)["health"]["unknown_members"] == []
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=10)
    assert f'endpoint_url="{url}"' in lines[1]
    assert f"AWS_ENDPOINT_URL_BEDROCK_AGENTCORE={url}" in lines[2]
    assert (process.returncode, errors) == (0, "")


@pytest.mark.parametrize("one", [signal.SIGINT, signal.SIGTERM])
def test_signals_end_it_and_are_given_back(one: signal.Signals) -> None:
    """Called from a program, it returns 0 on a signal and restores the handlers."""
    former = signal.getsignal(one)
    timer = threading.Timer(0.3, os.kill, [os.getpid(), one])
    timer.start()
    assert serve(0, frozen=True) == 0
    timer.join()
    assert signal.getsignal(one) is former


@pytest.mark.parametrize("port", ["taken", -1, 70_000])
def test_a_port_that_cannot_be_had(
    agentcore: Emulator, port: int | str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A port in use, or none at all, is said in one line and ends with status 1."""
    wanted = address(agentcore)[1] if isinstance(port, str) else port
    assert serve(wanted) == 1
    assert "--port" in capsys.readouterr().err


def test_the_environment_leads_here(agentcore_environment: Emulator) -> None:
    """Any AWS client of the process reaches the emulator without being told the address."""
    import boto3

    control_plane = boto3.client("bedrock-agentcore-control")
    assert control_plane.list_memories()["memories"] == []
    control_plane.close()
    assert agentcore_environment.log.counts() == {"ListMemories": 1}


def test_a_thousand_requests_are_quick(bench: Bench) -> None:
    """1,000 requests cost less than five seconds of both sides' processor time, and never wait."""
    started, waits = time.process_time(), []
    for number in range(250):
        bench.event(at=number)
        bench.list_events(actorId="ann", sessionId="s1", maxResults=5)
        bench.record(f"text {number}")
        asked = time.perf_counter()
        bench.list_memory_records(namespace="/a/", maxResults=5)
        waits.append(time.perf_counter() - asked)
    assert time.process_time() - started < 5
    assert median(waits) < 0.03


def test_starting_is_quick() -> None:
    """Ten emulators start, answer and stop in less than a second of processor time."""
    started = time.process_time()
    for _ in range(10):
        with Emulator() as emulator:
            assert ask(emulator, "POST", "/memories/", {})[0] == 200
    assert time.process_time() - started < 1


def test_a_body_at_the_limit_is_read(bench: Bench) -> None:
    """Ten megabytes to the byte are not too large; one more is."""
    body = {"actorId": "ann", "eventTimestamp": BIRTH, "payload": [said("x")]}
    text = json.dumps(body).encode()
    path = event_path(bench.memory_id, "events")
    padded = text + b" " * (LARGEST_BODY - len(text))
    assert ask(bench.emulator, "POST", path, raw=padded)[0] == 201
    assert ask(bench.emulator, "POST", path, raw=padded + b" ")[0] == 413


CONFTEST = 'pytest_plugins = ["memkit.testing.agentcore.fixtures"]'
FOREIGN = """
import pytest
from memkit.testing.agentcore import Switches

@pytest.fixture
def agentcore_switches():
    return Switches(record_order="id")

def test_it(agentcore):
    data, control = agentcore.boto_clients()
    assert control.list_memories()["memories"] == []
    assert agentcore.switches.record_order == "id"
"""


def test_third_parties_can_use_the_fixtures(tmp_path: Path) -> None:
    """A project of somebody else needs one line in its conftest."""
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_it.py").write_text(FOREIGN)
    command = [sys.executable, "-m", "pytest", "-q", "-W", "error", "--rootdir", str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    ran = subprocess.run(
        [*command, str(tmp_path)], env=environment, capture_output=True, text=True, check=False
    )
    assert "1 passed" in ran.stdout, ran.stdout


def test_without_botocore_it_says_what_to_install() -> None:
    """A missing extra is advice, and not the name of a module nobody asked for."""
    script = "import sys; sys.modules['botocore'] = None; import memkit.testing.agentcore"
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    ran = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False
    )
    assert "needs `agent-memkit[agentcore]`" in ran.stderr


def served_with(models: Path, plane: str, change: Callable[[Any], object]) -> tuple[str, str, int]:
    """What the command says where botocore has another model of a plane; it is then ended."""
    model = Loader().load_service_model(plane, "service-2")
    change(model)
    version = str(model["metadata"]["apiVersion"])
    folder = models / ".aws/models" / plane / version
    folder.mkdir(parents=True)
    (folder / "service-2.json").write_text(json.dumps(model))
    with subprocess.Popen(
        [sys.executable, "-m", "memkit.testing.agentcore", "--port", "0"],
        env={**os.environ, "HOME": str(models)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        first = process.stdout.readline()
        process.terminate()
        said, complaint = process.stdout.read(), process.stderr.read()
    return first + said, complaint, process.returncode


def test_a_model_without_an_operation_is_refused_at_start(tmp_path: Path) -> None:
    """An older botocore is told by name what it lacks, before anything is served."""
    said, complaint, status = served_with(
        tmp_path, "bedrock-agentcore", lambda model: model["operations"].pop("ListActors")
    )
    assert (said, status) == ("", 1)
    assert "lack ListActors: install a newer botocore" in complaint


def test_members_that_are_new_are_told_at_start(tmp_path: Path) -> None:
    """A newer botocore is served, and what the emulator has never heard of is named."""
    new = {"mood": {"shape": "String"}}
    said, _, status = served_with(
        tmp_path,
        "bedrock-agentcore",
        lambda model: model["shapes"]["CreateEventInput"]["members"].update(new),
    )
    assert status == 0
    assert "members unknown here: CreateEventInput.mood" in said
