"""An ASGI application behind Weir: at most as many requests of an address as its limit allows."""

import os

from weir_asgi import RateLimit, client_address


async def hello(scope, receive, send):
    if scope["type"] == "lifespan":
        return await lifespan(receive, send)
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/plain")]})
    await send({"type": "http.response.body", "body": b"hello\n"})


async def lifespan(receive, send):
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return


app = RateLimit(
    hello,
    address=os.environ.get("WEIR_ADDRESS", "localhost:8081"),
    domain="shop",
    descriptors=lambda scope: [{"remote_address": client_address(scope)}],
    timeout_s=float(os.environ.get("WEIR_TIMEOUT_S", "0.02")),
    fail_open=os.environ.get("WEIR_FAIL_OPEN", "true") == "true",
)
