"""A client by grpcio (gRPC's C++ core) that mixes calls of every kind on shared connections, and counts those that ended as they should.

Reads its work from standard input, and writes its counts to standard output, as test/clients/foreign-client.ts says.
"""

import json
import sys
import threading

import grpc

SHOULD_RATE_LIMIT = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit"
CHECK = "/grpc.health.v1.Health/Check"
WATCH = "/grpc.health.v1.Health/Watch"
REFLECTION = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"
UNKNOWN = "/no.such.Service/Method"

# For calls that nothing ought to delay, in seconds.
PATIENCE = 30

KINDS = "decide check decide unknown decide deadline decide cancel decide watch decide reflection decide large".split()

Code = grpc.StatusCode


class Client:
    def __init__(self, channel, messages):
        self.channel = channel
        self.messages = messages

    def unary(self, method, message, timeout=PATIENCE):
        try:
            return Code.OK, len(self.channel.unary_unary(method)(self.messages[message], timeout=timeout))
        except grpc.RpcError as error:
            return error.code(), 0

    def first_of(self, method, message):
        """The first message of a stream that is then given up."""
        sent = threading.Event()

        def requests():
            yield self.messages[message]
            # Reflection ends when its client has said all, and a watch begins then.
            if method != WATCH:
                sent.wait(PATIENCE)

        call = self.channel.stream_stream(method)(requests(), timeout=PATIENCE)
        try:
            size = len(next(call))
        except grpc.RpcError as error:
            return error.code(), 0
        finally:
            call.cancel()
            sent.set()
        return call.code(), size

    def cancelled(self):
        call = self.channel.unary_unary(SHOULD_RATE_LIMIT).future(self.messages["slow"])
        timer = threading.Timer(0.005, call.cancel)
        timer.start()
        try:
            call.result()
            return Code.OK, 1
        except grpc.FutureCancelledError:
            return Code.CANCELLED, 0
        except grpc.RpcError as error:
            return error.code(), 0
        finally:
            timer.cancel()

    def call(self, kind):
        """One call of the kind; what is wrong with how it ended, or nothing."""
        wanted, is_empty = Code.OK, False
        if kind in ("decide", "large"):
            code, size = self.unary(SHOULD_RATE_LIMIT, kind)
        elif kind == "check":
            code, size = self.unary(CHECK, "empty")
        elif kind == "unknown":
            code, size = self.unary(UNKNOWN, "empty")
            wanted, is_empty = Code.UNIMPLEMENTED, True
        elif kind == "deadline":
            code, size = self.unary(SHOULD_RATE_LIMIT, "slow", timeout=0.02)
            wanted, is_empty = Code.DEADLINE_EXCEEDED, True
        elif kind == "cancel":
            code, size = self.cancelled()
            wanted, is_empty = Code.CANCELLED, True
        elif kind == "watch":
            code, size = self.first_of(WATCH, "empty")
            wanted = Code.CANCELLED
        else:
            code, size = self.first_of(REFLECTION, "list")
            wanted = Code.CANCELLED
        if code != wanted or (size == 0) != is_empty:
            return f"{code}, {size} bytes"
        return ""


def main():
    work = json.load(sys.stdin)
    messages = {name: bytes.fromhex(text) for name, text in work["messages"].items()}
    counts = {}
    lock = threading.Lock()

    def run(channel, worker):
        client = Client(channel, messages)
        for n in range(work["calls"]):
            kind = KINDS[(n + worker) % len(KINDS)]
            wrong = client.call(kind)
            with lock:
                count = counts.setdefault(kind, {"right": 0, "wrong": []})
                if wrong:
                    count["wrong"].append(wrong)
                else:
                    count["right"] += 1

    options = [("grpc.use_local_subchannel_pool", 1)]
    channels = [grpc.insecure_channel(work["target"], options=options) for _ in range(work["channels"])]
    threads = [threading.Thread(target=run, args=(channel, worker)) for channel in channels for worker in range(work["workers"])]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for channel in channels:
        channel.close()
    json.dump(counts, sys.stdout)


main()
