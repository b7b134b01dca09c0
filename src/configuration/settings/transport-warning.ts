/** The warning at the start for a transport that any client can crash. */

/**
 * grpc-js stands on the server of node:http2, which fails an assertion when the project's fuzzer talks to it: `Http2StreamListener::OnStreamRead`
 * (`onread->IsFunction()`) on Node 22.23.3; `~Http2Session` (`current_nghttp2_memory_ == 0`) on 20.20.2, 24.21.0 and 26.10.0. Each ends the process.
 */
const GRPC_JS_DIES =
  'TRANSPORT=grpc-js: any client can end this process with frames that fail an assertion of node:http2. Use TRANSPORT=lean, unless every client that reaches the gRPC port is trusted.';

export function transportWarning(transport: 'lean' | 'grpc-js'): string | undefined {
  return transport === 'grpc-js' ? GRPC_JS_DIES : undefined;
}
