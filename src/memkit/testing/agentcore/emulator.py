"""The emulator: the whole of AgentCore Memory behind one address."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import botocore.config
import botocore.session

from memkit.testing.agentcore.clock import VirtualClock
from memkit.testing.agentcore.controls import PREFIX, Controls
from memkit.testing.agentcore.server import Server
from memkit.testing.agentcore.service import Service
from memkit.testing.agentcore.switches import Switches

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from memkit.testing.agentcore.extractors import Extractor
    from memkit.testing.agentcore.faults import Faults
    from memkit.testing.agentcore.log import LoggedRequest, RequestLog
    from memkit.testing.agentcore.models import Plane
    from memkit.testing.agentcore.replies import Reply

REGION = "us-east-1"


class BotoSession(Protocol):
    """The part of botocore's session that is used."""

    def create_client(self, service_name: str, **options: object) -> Any:
        """Return a client of a service."""
        ...


class Clients(NamedTuple):
    """A client of each plane; botocore makes their methods at run time."""

    data: Any
    control: Any


class Emulator:
    """A server on the loopback interface, with everything that tests want to turn.

    Use it as a context manager, or call `start` and `stop`. The clock stands still until it is
    advanced. `reset` loses all state but keeps clock and switches.
    """

    def __init__(
        self,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        switches: Switches | None = None,
        clock: VirtualClock | None = None,
        seed: int = 0,
    ) -> None:
        self.clock = clock or VirtualClock()
        self.switches = switches or Switches()
        self._service = Service(self.clock, self.switches, seed)
        self._controls = Controls(self._service)
        self._server = Server(host, port, self._answer)
        self._clients: list[Any] = []

    @property
    def endpoint_url(self) -> str:
        """The address to give to clients as `endpoint_url`."""
        return self._server.url

    @property
    def faults(self) -> Faults:
        """The faults in force."""
        return self._service.faults

    @property
    def log(self) -> RequestLog:
        """The requests that arrived."""
        return self._service.log

    @property
    def extractors(self) -> dict[str, Extractor]:
        """What extraction does, by kind of strategy; replace entries at will."""
        return self._service.queue.extractors

    @property
    def crashes(self) -> list[str]:
        """The tracebacks of what went wrong in the emulator itself."""
        return self._service.crashes

    def start(self) -> Self:
        """Serve in the background."""
        self._server.start()
        return self

    def stop(self) -> None:
        """Close every connection and every client made here; twice is fine."""
        for client in self._clients:
            client.close()
        self._clients.clear()
        self._server.stop()

    def reset(self) -> None:
        """Lose memories, faults and log."""
        self._service.reset()

    def __enter__(self) -> Self:
        """Start."""
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop."""
        self.stop()

    def environment(self) -> dict[str, str]:
        """Return the variables that lead any AWS client of a process here, and nowhere else."""
        return {
            "AWS_ENDPOINT_URL_BEDROCK_AGENTCORE": self.endpoint_url,
            "AWS_ENDPOINT_URL_BEDROCK_AGENTCORE_CONTROL": self.endpoint_url,
            "AWS_ACCESS_KEY_ID": "emulator",
            "AWS_SECRET_ACCESS_KEY": "emulator",
            "AWS_DEFAULT_REGION": REGION,
            "AWS_REGION": REGION,
            "AWS_EC2_METADATA_DISABLED": "true",
            "NO_PROXY": "127.0.0.1,localhost",
        }

    def client(self, plane: Plane, **config: object) -> Any:
        """Return a boto client of one plane; `config` goes into botocore's Config."""
        options = {"proxies": {}, "connect_timeout": 3, "read_timeout": 10, **config}
        client = _session().create_client(
            plane,
            endpoint_url=self.endpoint_url,
            region_name=REGION,
            aws_access_key_id="emulator",
            aws_secret_access_key="emulator",  # noqa: S106 - no secret: signatures are not checked
            config=botocore.config.Config(**options),
        )
        self._clients.append(client)
        return client

    def boto_clients(self, **config: object) -> Clients:
        """Return a client of each plane."""
        data = self.client("bedrock-agentcore", **config)
        return Clients(data, self.client("bedrock-agentcore-control", **config))

    def _answer(self, request: LoggedRequest) -> Reply:
        if request.target.startswith(PREFIX):
            return self._controls.answer(request)
        return self._service.answer(request)


@cache
def _session() -> BotoSession:
    """Return one session for all clients: it keeps the models it has read."""
    session: BotoSession = botocore.session.Session()
    return session
