"""Calls over a channel: deadlines, retries, and errors that say what to do."""

from __future__ import annotations

import queue
import random
import secrets
import threading
import time
from contextlib import contextmanager
from typing import Any, Callable, Iterator, Optional, Type, TypeVar

import grpc

from coppice import _core
from coppice.remote.errors import (
    NotFoundError,
    RemoteError,
    ResourceExhaustedError,
    error_of_code,
)

Response = TypeVar("Response")

DEFAULT_TIMEOUT = 60.0
# What the curator itself allows to the calls that compute.
PLAN_TIMEOUT = 300.0
BUILD_TIMEOUT = 3600.0

_MAX_FRUITLESS_TRIES = 5
_FIRST_PAUSE = 0.1
_MAX_PAUSE = 10.0
_MAX_DETAIL = 2000
_TRANSIENT = ("UNAVAILABLE", "DEADLINE_EXCEEDED", "RESOURCE_EXHAUSTED", "ABORTED")


def new_request_id() -> str:
    """Return an id by which the curator knows the same request again."""
    return secrets.token_hex(16)


class Caller:
    """Calls the curator's methods.

    A method is named by its request: each has a message of its own.

    Parameters
    ----------
    channel : grpc.Channel
    server : str
        The address, for error texts.
    timeout : float or None
        The seconds that each call may take; None: what suits the call.
    diagnose : callable
        Returns why no connection can be made, or None.
    """

    def __init__(
        self,
        channel: Any,
        server: str,
        timeout: Optional[float],
        diagnose: Callable[[], Optional[str]],
    ) -> None:
        self._channel = channel
        self._server = server
        self._timeout = timeout
        self._diagnose = diagnose

    def call(
        self,
        request: Any,
        response: Type[Response],
        *,
        timeout: float = DEFAULT_TIMEOUT,
        repeatable: bool = True,
    ) -> Response:
        """Call a method with one request and one answer.

        Parameters
        ----------
        timeout : float
            The seconds that all tries together may take, unless the caller has its own timeout.
        repeatable : bool
            Whether doing it twice does no more than doing it once.
        """
        give_up = time.monotonic() + self.limit(timeout)
        method = self._channel.unary_unary(*_method(request, response))
        patience = Patience(self, give_up)
        while True:
            try:
                with self.translated_errors():
                    # gRPC takes a deadline in the past for none at all.
                    left = max(give_up - time.monotonic(), 0.001)
                    answer: Response = method(request, timeout=left)
                    return answer
            except RemoteError as error:
                if not repeatable:
                    raise
                patience.wait_after(error)

    def delete(self, request: Any, response: Type[Response]) -> None:
        """Call a method that deletes; after a broken try, NotFound means that it succeeded."""
        try:
            self.call(request, response, repeatable=False)
        except RemoteError as error:
            if not is_transient(error):
                raise
            try:
                self.call(request, response)
            except NotFoundError:
                pass

    def pages(self, request: Any, response: Type[Response]) -> Iterator[Response]:
        """Call a List method until there is no further page."""
        while True:
            page: Any = self.call(request, response)
            yield page
            request.page_token = page.next_page_token
            if not request.page_token:
                return

    @contextmanager
    def answers(
        self, request: Any, response: Type[Response], timeout: float
    ) -> Iterator[Iterator[Response]]:
        """Open a stream of answers; leaving the block cancels it."""
        method = self._channel.unary_stream(*_method(request, response))
        with self._streamed(lambda: method(request, timeout=timeout)) as answers:
            yield answers

    @contextmanager
    def conversation(
        self, requests: Iterator[Any], kind: Any, response: Type[Response], timeout: float
    ) -> Iterator[Iterator[Response]]:
        """Open a stream in both directions, of requests of `kind`; leaving the block cancels it."""
        method = self._channel.stream_stream(*_method(kind, response))
        with self._streamed(lambda: method(requests, timeout=timeout)) as answers:
            yield answers

    def send(
        self, requests: Iterator[Any], kind: Any, response: Type[Response], timeout: float
    ) -> Response:
        """Send a stream of requests of `kind`, and return the answer; Ctrl-C cancels it."""
        method = self._channel.stream_unary(*_method(kind, response))
        ended: queue.SimpleQueue[Any] = queue.SimpleQueue()

        def begin() -> Any:
            call = method.future(requests, timeout=timeout)
            call.add_done_callback(ended.put)
            return call

        with self._cancelled(_in_thread(begin)) as call:
            ended.get()
            answer: Response = call.result()
            return answer

    @contextmanager
    def _streamed(self, begin: Callable[[], Any]) -> Iterator[Iterator[Any]]:
        """Give a call's answers one by one, as they are asked for."""
        asked: queue.SimpleQueue[bool] = queue.SimpleQueue()
        told: queue.SimpleQueue[tuple[Any, Optional[Exception]]] = queue.SimpleQueue()

        def read(call: Any) -> None:
            while asked.get():
                try:
                    told.put((next(call), None))
                except Exception as error:  # StopIteration too, which ends the stream
                    told.put((None, error))
                    return

        def each() -> Iterator[Any]:
            while True:
                asked.put(True)
                answer, error = told.get()
                if isinstance(error, StopIteration):
                    return
                if error is not None:
                    raise error
                yield answer

        try:
            with self._cancelled(_in_thread(begin, then=read)):
                yield each()
        finally:
            asked.put(False)

    @contextmanager
    def _cancelled(self, call: Any) -> Iterator[Any]:
        try:
            with self.translated_errors():
                yield call
        finally:
            call.cancel()  # of no effect on a call that has ended

    @contextmanager
    def translated_errors(self) -> Iterator[None]:
        """Turn gRPC's errors into ours."""
        try:
            yield
        except grpc.FutureCancelledError:
            raise error_of_code("CANCELLED", f"{self._server} ended the call") from None
        except grpc.RpcError as error:
            raise self._error_of(error) from None

    def limit(self, timeout: float) -> float:
        """Return `timeout`, unless the caller has a timeout of its own."""
        return timeout if self._timeout is None else self._timeout

    def wait_connected(self, seconds: float) -> None:
        """Wait this long, and connect meanwhile.

        A channel that lost its server connects again only while a call waits for it; others meet
        its last error at once. The health check waits here, since anybody may
        ask it.
        """
        until = time.monotonic() + seconds
        ask = self._channel.unary_unary("/grpc.health.v1.Health/Check")
        try:
            ask(b"", timeout=seconds, wait_for_ready=True)
        except grpc.RpcError:
            pass
        time.sleep(max(0.0, until - time.monotonic()))

    def _error_of(self, rpc_error: Any) -> RemoteError:
        code: str = rpc_error.code().name
        metadata = dict(rpc_error.trailing_metadata() or ())
        request_id = metadata.get("x-request-id")
        detail = printable(rpc_error.details() or "")
        pushback = _pushback(metadata.get("grpc-retry-pushback-ms"))
        if code == "CANCELLED":
            # Nobody here cancels a call and then asks for its answer, so the curator did.
            code = "DEADLINE_EXCEEDED"
            detail = (
                f"{self._server} ended the call before it was answered: it took longer than the "
                f"server allows, or the server is stopping ({detail})"
            )
        elif code == "DEADLINE_EXCEEDED":
            detail = f"{self._server} did not answer in time: {detail}"
        elif code == "UNAVAILABLE" and request_id is None:
            why = self._diagnose()
            if why is not None and not why.startswith("nobody answers"):
                pushback = -1.0  # certificates do not get better by trying again
            detail = why or f"no answer from {self._server}: {detail}"
        if request_id is not None:
            detail = f"{detail} (request id {printable(request_id)})"
        error = error_of_code(code, detail)
        error.request_id = request_id
        error.pushback = pushback
        return error


class Patience:
    """Decides after each failure whether to try again, and waits.

    Parameters
    ----------
    give_up : float
        The time, by the monotonic clock, from which nothing is tried again.
    """

    def __init__(self, caller: Caller, give_up: float = float("inf")) -> None:
        self._caller = caller
        self._give_up = give_up
        self._fruitless = 0

    def wait_after(self, error: RemoteError, *, came_further: bool = False) -> None:
        """Wait before the next try; raise `error` if there should be none.

        Parameters
        ----------
        came_further : bool
            Whether the try that failed did a part of the work.
        """
        if not is_transient(error):
            raise error
        self._fruitless = 0 if came_further else self._fruitless + 1
        pause = (error.pushback or 0.0) + _backoff(self._fruitless)
        if self._fruitless == _MAX_FRUITLESS_TRIES or time.monotonic() + pause >= self._give_up:
            raise error
        self._caller.wait_connected(pause)


def _in_thread(begin: Callable[[], Any], then: Callable[[Any], None] = lambda call: None) -> Any:
    """Begin a call in a thread of its own, which then does the rest, and return the call.

    Ctrl-C reaches the main thread alone. Where that takes one of gRPC's locks, an interrupt can leave it
    locked, and closing the channel then waits for ever; a queue has no such moment.
    """
    begun: queue.SimpleQueue[tuple[Any, Optional[Exception]]] = queue.SimpleQueue()

    def run() -> None:
        try:
            call = begin()
        except Exception as error:
            begun.put((None, error))
            return
        begun.put((call, None))
        then(call)

    threading.Thread(target=run, daemon=True).start()
    call, error = begun.get()
    if error is not None:
        raise error
    return call


def is_transient(error: RemoteError) -> bool:
    """Tell whether the same call may succeed later."""
    if error.pushback is not None:
        return error.pushback >= 0
    return error.code in _TRANSIENT and not isinstance(error, ResourceExhaustedError)


def _backoff(tries: int) -> float:
    ceiling = min(_MAX_PAUSE, _FIRST_PAUSE * 2**tries)
    return random.uniform(0.0, ceiling)


def _pushback(text: Optional[str]) -> Optional[float]:
    if text is None:
        return None
    try:
        return int(text) / 1000
    except ValueError:
        return -1.0  # as in gRPC's own retries: what is no number asks for no further try


def printable(text: Any) -> str:
    """Return a text of the curator's that can neither steer a terminal nor pass for another, cut where it is long."""
    shown = _core.printable(str(text).encode("utf-8", "replace"))
    return shown if len(shown) <= _MAX_DETAIL else shown[:_MAX_DETAIL] + "..."


def _method(request: Any, response: Any) -> tuple[str, Any, Any]:
    """Path, serializer and parser of the method that takes `request`, a message or its type."""
    asked, answered = request.DESCRIPTOR, response.DESCRIPTOR
    for service in asked.file.services_by_name.values():
        for method in service.methods:
            names = (method.input_type.full_name, method.output_type.full_name)
            if names == (asked.full_name, answered.full_name):
                path = f"/{service.full_name}/{method.name}"
                kind: Any = request if isinstance(request, type) else type(request)
                return path, kind.SerializeToString, response.FromString
    raise TypeError(f"no method takes {asked.full_name} and answers with {answered.full_name}")
