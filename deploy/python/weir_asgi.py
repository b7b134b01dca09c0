"""ASGI middleware that limits an application with Weir.

It needs grpcio, and the stubs that grpcio-tools makes of proto/. docs/libraries.md has the commands.
"""

import asyncio
import json
import logging
import time

import grpc
from envoy.extensions.common.ratelimit.v3 import ratelimit_pb2
from envoy.service.ratelimit.v3 import rls_pb2, rls_pb2_grpc

CHANNEL_OPTIONS = [
    # A connection to each address of the name, in turn.
    ("grpc.service_config", json.dumps({"loadBalancingConfig": [{"round_robin": {}}]})),
    # A retry would count hits twice.
    ("grpc.enable_retries", 0),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1000),
]

OVER_LIMIT = rls_pb2.RateLimitResponse.OVER_LIMIT

# How long the start waits for a connection, in seconds.
CONNECT_S = 1

LOG = logging.getLogger("weir")

# Seconds between two warnings about requests that Weir has not decided.
WARNING_S = 60

# Try again later.
WEBSOCKET_DENIED = 1013


def client_address(scope):
    """The address of the socket: any client can write X-Forwarded-For."""
    client = scope.get("client")
    return client[0] if client else "unknown"


class RateLimit:
    """Asks Weir before each request and each WebSocket.

    descriptors: a function of the ASGI scope that returns dicts of keys and values in their order; an empty list is not limited.
    timeout_s: the deadline of a call, as long as Envoy waits by default.
    fail_open: whether a request passes when Weir does not answer; otherwise it gets 503.
    credentials: those of grpc for TLS, such as grpc.ssl_channel_credentials(); None: no TLS.
    on_failure: called with the error of each call without an answer; None: a warning of the logger `weir`, once a minute at most.

    failures counts the requests that fail_open decided.
    """

    def __init__(
        self, app, *, address, domain, descriptors, timeout_s=0.02, fail_open=True, credentials=None, on_failure=None, clock=time.monotonic
    ):
        self.app = app
        self.address = address
        self.domain = domain
        self.descriptors = descriptors
        self.timeout_s = timeout_s
        self.fail_open = fail_open
        self.credentials = credentials
        self.on_failure = on_failure
        self.clock = clock
        self.failures = 0
        self.warned_failures = 0
        self.next_warning_s = None
        self.channel = None
        self.stub = None

    async def __call__(self, scope, receive, send):
        if scope["type"] == "lifespan":
            await self.open()
            try:
                return await self.app(scope, receive, send)
            finally:
                await self.close()
        descriptors = self.descriptors(scope)
        if not descriptors:
            return await self.app(scope, receive, send)
        answer = await self.ask(descriptors)
        if answer is None:
            if not self.fail_open:
                return await deny(scope, receive, send, 503, "Service Unavailable", rls_pb2.RateLimitResponse())
            return await self.app(scope, receive, send)
        if answer.overall_code == OVER_LIMIT:
            return await deny(scope, receive, send, 429, "Too Many Requests", answer)
        return await self.app(scope, receive, with_headers(send, headers_of(answer)))

    async def ask(self, descriptors):
        """The answer of Weir, or None if there is none in time. Raises if the request itself is invalid: it must not pass."""
        request = rls_pb2.RateLimitRequest(
            domain=self.domain,
            descriptors=[
                ratelimit_pb2.RateLimitDescriptor(
                    entries=[ratelimit_pb2.RateLimitDescriptor.Entry(key=key, value=value) for key, value in entries.items()]
                )
                for entries in descriptors
            ],
        )
        try:
            return await self.connected().ShouldRateLimit(request, timeout=self.timeout_s)
        except grpc.aio.AioRpcError as error:
            if error.code() == grpc.StatusCode.INVALID_ARGUMENT:
                raise
            self.report(error)
            return None

    def report(self, error):
        """A request that passes unlimited has to be seen. A hook that raises changes no decision."""
        self.failures += 1
        if self.on_failure is not None:
            try:
                self.on_failure(error)
            except Exception:
                LOG.exception("on_failure has raised")
            return
        now_s = self.clock()
        if self.next_warning_s is not None and now_s < self.next_warning_s:
            return
        since = self.failures - self.warned_failures
        self.warned_failures = self.failures
        self.next_warning_s = now_s + WARNING_S
        verb = "passed" if self.fail_open else "got 503"
        LOG.warning(
            "%d request%s %s without a decision of Weir at %s. Last reason: %s %s",
            since, "" if since == 1 else "s", verb, self.address, error.code().name, error.details(),
        )

    def connected(self):
        # A channel belongs to the event loop, which runs only now.
        if self.stub is None:
            if self.credentials is None:
                self.channel = grpc.aio.insecure_channel(self.address, options=CHANNEL_OPTIONS)
            else:
                self.channel = grpc.aio.secure_channel(self.address, self.credentials, options=CHANNEL_OPTIONS)
            self.stub = rls_pb2_grpc.RateLimitServiceStub(self.channel)
        return self.stub

    async def open(self):
        """Connects before the first request, whose deadline is short. Without Weir the application starts all the same."""
        self.connected()
        try:
            await asyncio.wait_for(self.channel.channel_ready(), CONNECT_S)
        except asyncio.TimeoutError:
            pass

    async def close(self):
        if self.channel is not None:
            await self.channel.close()


def headers_of(answer):
    return [(header.key.lower().encode("latin-1"), header.value.encode("latin-1")) for header in answer.response_headers_to_add]


def with_headers(send, headers):
    async def send_with_headers(message):
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", []), *headers]}
        await send(message)

    return send_with_headers


async def deny(scope, receive, send, status, title, answer):
    """The body of Weir, or else a problem in JSON (RFC 9457)."""
    if scope["type"] == "websocket":
        await receive()
        return await send({"type": "websocket.close", "code": WEBSOCKET_DENIED})
    headers = headers_of(answer)
    body = answer.raw_body
    if not body:
        body = json.dumps({"type": "about:blank", "title": title, "status": status}).encode() + b"\n"
        headers = [header for header in headers if header[0] != b"content-type"]
        headers.append((b"content-type", b"application/problem+json"))
    headers.append((b"content-length", str(len(body)).encode()))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    # A response to HEAD has no body, only its length.
    await send({"type": "http.response.body", "body": b"" if scope.get("method") == "HEAD" else body})
