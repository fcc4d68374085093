"""The service: takes a raw request through routing, validation, faults and handling."""

from __future__ import annotations

import logging
import threading
import traceback
from functools import reduce
from typing import TYPE_CHECKING

from memkit.testing.agentcore.calls import Call
from memkit.testing.agentcore.errors import ServiceError, failure, invalid
from memkit.testing.agentcore.extraction import Job, Queue
from memkit.testing.agentcore.faults import EXTRACTION, Faults
from memkit.testing.agentcore.handlers import HANDLERS
from memkit.testing.agentcore.idempotency import ClientTokens
from memkit.testing.agentcore.log import LoggedRequest, RequestLog
from memkit.testing.agentcore.memories import Shelf
from memkit.testing.agentcore.mint import Mint
from memkit.testing.agentcore.models import Operation, load_operations
from memkit.testing.agentcore.replies import InterceptedError, Reply, error_reply, json_reply
from memkit.testing.agentcore.routing import Router, bind
from memkit.testing.agentcore.throttles import Throttles
from memkit.testing.agentcore.validation import Walker, known_part
from memkit.testing.agentcore.values import Members, Params, as_members

if TYPE_CHECKING:
    from collections.abc import Callable

    from memkit.testing.agentcore.actions import Action
    from memkit.testing.agentcore.clock import VirtualClock
    from memkit.testing.agentcore.switches import Switches

logger = logging.getLogger(__name__)

DEFAULT_REGION = "us-east-1"
MOST_PROBLEMS = 10


class Service:
    """Everything but the wire. One request is handled at a time."""

    def __init__(self, clock: VirtualClock, switches: Switches, seed: int) -> None:
        self.clock = clock
        self.switches = switches
        self.faults = Faults()
        self.log = RequestLog()
        self.crashes: list[str] = []
        self._router = Router(load_operations().values())
        self._lock = threading.Lock()
        self._tokens = ClientTokens()
        self._throttles = Throttles()
        self._seed = seed
        self._start_afresh()

    def reset(self) -> None:
        """Lose all state; clock and switches stay."""
        with self._lock:
            self._start_afresh()
            self.faults.clear()
            self.log.clear()
            self.crashes.clear()
            self._tokens.clear()
            self._throttles.clear()

    def answer(self, request: LoggedRequest) -> Reply:
        """Answer a raw request; what the emulator itself does wrong is a 500 and a crash."""
        with self._lock:
            request.at = self.clock.now()
            self.log.add(request)
            try:
                reply = self._answer(request)
            except InterceptedError as fault:
                reply = fault.reply
            except ServiceError as error:
                request.error = error.code
                reply = error_reply(error)
            except Exception as error:  # noqa: BLE001 - a server answers whatever happens
                self._note_crash(request, error)
                reply = error_reply(failure("the emulator failed; see its crashes"))
            request.status, request.answer_size = reply.status, len(reply.body)
            return reply

    def _start_afresh(self) -> None:
        self._mint = Mint(self._seed)
        self.shelf = Shelf()
        self.queue = Queue(self._mint, self.switches, self._tamper)

    def _answer(self, request: LoggedRequest) -> Reply:
        path, _, query = request.target.partition("?")
        operation, found = self._router.find(request.method, path)
        request.operation = operation.name
        params = bind(operation, found, query, request.body)
        request.params = params
        self._check_request(operation, params)
        call = self._call(operation, params, request)
        self.queue.run_due(call.now)
        actions = self.faults.select(operation.name, params)
        for action in actions:
            action.before(call)
        if self.switches.throttle:
            self._throttles.admit(operation.name, call.params, call.now, self.switches)
        answer = self._tokens.once(call, _wrapped(HANDLERS[operation.name], actions))
        for action in actions:
            answer = action.redraw(call, answer)
        if not any(action.drifts for action in actions):
            self._check_answer(operation, answer)
        reply = json_reply(operation.status, answer)
        return reduce(lambda sent, action: action.deliver(sent), actions, reply)

    def _call(self, operation: Operation, params: Members, request: LoggedRequest) -> Call:
        return Call(
            operation=operation,
            params=Params(as_members(known_part(operation.request, params))),
            now=request.at,
            region=request.region or DEFAULT_REGION,
            shelf=self.shelf,
            switches=self.switches,
            mint=self._mint,
            queue=self.queue,
        )

    def _check_request(self, operation: Operation, params: Members) -> None:
        walker = Walker(refuse_unknown=self.switches.strict_unknown)
        problems = list(walker.problems(operation.request, params))
        if not problems:
            return
        shown = problems[:MOST_PROBLEMS]
        listed = "; ".join(f"Value at '{path}' failed: {complaint}" for path, complaint in shown)
        msg = f"{len(problems)} validation error(s) detected: {listed}"
        raise invalid(msg, fields=shown)

    def _check_answer(self, operation: Operation, answer: Members) -> None:
        """Compare with the model, but for what the service itself is known to leave out."""
        unbounded = () if self.switches.system_keys_count else ("MemoryRecordMetadataMap",)
        without_payload = ("payload",) if operation.name == "ListEvents" else ()
        walker = Walker(
            refuse_unknown=True,
            may_lack=frozenset(without_payload),
            unbounded=frozenset(unbounded),
        )
        if problems := list(walker.problems(operation.answer, answer)):
            msg = f"{operation.name} would answer what its model forbids: {problems[:3]}"
            raise AssertionError(msg)

    def _tamper(self, job: Job) -> None:
        params: Members = {
            "memoryId": job.memory.memory_id,
            "actorId": job.event.actor_id,
            "sessionId": job.event.session_id,
            "strategyId": job.strategy.strategy_id,
            "kind": job.strategy.extracts,
        }
        for action in self.faults.select(EXTRACTION, params):
            action.tamper(job)

    def _note_crash(self, request: LoggedRequest, error: Exception) -> None:
        request.error = type(error).__name__
        self.crashes.append("".join(traceback.format_exception(error)))
        logger.error("%s failed", request.operation or request.target, exc_info=error)


def _wrapped(handle: Callable[[Call], Members], actions: list[Action]) -> Callable[[Call], Members]:
    def wrap(inner: Callable[[Call], Members], action: Action) -> Callable[[Call], Members]:
        return lambda call: action.around(call, inner)

    return reduce(wrap, actions, handle)
