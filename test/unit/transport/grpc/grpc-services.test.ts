/** The gRPC port serves exactly the methods of proto/, and reflection lists them. */

import { parse, type Type } from 'protobufjs';
import { Health } from '../../../../src/server/observability/health';
import type { AnswerCalls } from '../../../../src/server/transport/answer';
import type { CallError, StreamMethod } from '../../../../src/server/transport/grpc/grpc-method';
import { makeGrpcServices } from '../../../../src/server/transport/grpc/grpc-services';
import { loadProto } from '../../../../src/server/transport/messages/proto';
import type { ReservationService } from '../../../../src/state/reservation/reservation-service';
import { ReservationCalls } from '../../../../src/server/transport/reservation-calls';

/** The messages of server reflection, as its .proto has them. */
const { root } = parse(
  `syntax = "proto3";
  message Request { string host = 1; oneof question {
    string file_by_filename = 3; string file_containing_symbol = 4; Extension file_containing_extension = 5; string all_extension_numbers_of_type = 6; string list_services = 7; } }
  message Extension { string containing_type = 1; int32 extension_number = 2; }
  message Response { string valid_host = 1; Request original_request = 2; Files file_descriptor_response = 4; Services list_services_response = 6; Error error_response = 7; }
  message Files { repeated bytes file_descriptor_proto = 1; }
  message Services { repeated Service service = 1; }
  message Service { string name = 1; }
  message Error { int32 error_code = 1; string error_message = 2; }`,
  { keepCase: true },
);
const [requestType, responseType] = [root.lookupType('Request'), root.lookupType('Response')];

// Nothing is decided here.
const answerCalls = undefined as unknown as AnswerCalls;
const service = undefined as unknown as ReservationService;

const { methods } = makeGrpcServices({
  answerCalls,
  reservationCalls: new ReservationCalls({ service, answerCalls, log: { error: () => undefined } }),
  health: new Health(),
  onCall: () => undefined,
});

test('each method of proto/ is served, as a call of its kind', () => {
  const { rateLimit, ...others } = loadProto();
  const definitions = [rateLimit.ShouldRateLimit, ...Object.values(others).flatMap((service) => Object.values(service))];
  const wanted = definitions.map(({ path, responseStream }) => [path, responseStream ? 'stream' : 'unary']);
  const served = [...methods.values()].filter(({ path }) => !path.startsWith('/grpc.reflection.')).map(({ path, kind }) => [path, kind]);
  expect(served.sort()).toEqual(wanted.sort());
});

describe.each(['v1', 'v1alpha'])('reflection %s', (version) => {
  interface Reply {
    readonly valid_host?: string;
    readonly original_request?: object;
    readonly file_descriptor_response?: { readonly file_descriptor_proto: readonly Buffer[] };
    readonly list_services_response?: { readonly service: readonly { readonly name: string }[] };
    readonly error_response?: { readonly error_code: number; readonly error_message: string };
  }

  const method = methods.get(`/grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`) as StreamMethod;

  /** The answers to the messages of one stream, and how it ended. */
  function send(...messages: readonly Uint8Array[]): { readonly replies: readonly Reply[]; readonly ended: CallError | 'ok' | undefined } {
    const replies: Reply[] = [];
    let ended: CallError | 'ok' | undefined;
    const reader = method.open({
      isFull: false,
      write: (message) => {
        replies.push(read(responseType, message));
      },
      end: (error) => {
        ended = error ?? 'ok';
      },
    });
    for (const message of messages) reader.onMessage(Buffer.from(message));
    if (ended === undefined) reader.onEnd();
    return { replies, ended };
  }

  const ask = (request: object): Reply => send(requestType.encode(request).finish()).replies[0]!;

  test('reflection lists the services', () => {
    const { list_services_response: list } = ask({ list_services: '*' });
    expect(list?.service.map(({ name }) => name)).toEqual([
      'envoy.service.ratelimit.v3.RateLimitService',
      'grpc.health.v1.Health',
      'grpc.reflection.v1.ServerReflection',
      'grpc.reflection.v1alpha.ServerReflection',
      'kuadrant.service.ratelimit.v1.RateLimitService',
      'weir.v1.ReservationService',
    ]);
  });

  test.each([
    [{ file_by_filename: 'grpc/health/v1/health.proto' }, 1],
    [{ file_containing_symbol: 'grpc.health.v1.HealthCheckResponse.ServingStatus' }, 1],
    [{ file_containing_symbol: 'grpc.health.v1.HealthCheckResponse.NOT_SERVING' }, 1],
    [{ file_containing_symbol: 'weir.v1.ReservationService.Reserve' }, 9],
  ])('reflection sends the file of %j, and all its imports', (question, files) => {
    expect(ask(question).file_descriptor_response?.file_descriptor_proto).toHaveLength(files);
  });

  test.each([
    [{ file_by_filename: 'é.proto' }, 5, 'Proto file not found: é.proto'],
    [{ file_containing_symbol: 'weir.v1.Nothing' }, 5, 'Symbol not found: weir.v1.Nothing'],
    [
      { file_containing_extension: { containing_type: 'weir.v1.State', extension_number: 7 } },
      5,
      'Extensions not found for symbol weir.v1.State',
    ],
    [{ all_extension_numbers_of_type: 'weir.v1.State' }, 5, 'Extensions not found for symbol weir.v1.State'],
    [{}, 12, 'the request has no known field; set one field of message_request'],
  ])('reflection answers %j with an error', (question, code, message) => {
    const request = { host: 'h', ...question };
    expect(ask(request)).toEqual({
      valid_host: 'h',
      original_request: request,
      error_response: { error_code: code, error_message: message },
    });
  });

  test('reflection answers each message, and ends with the last', () => {
    const message = requestType.encode({ list_services: '' }).finish();
    expect(send(message, message)).toMatchObject({ replies: [{}, {}], ended: 'ok' });
  });

  test('reflection ends the call at an invalid message', () => {
    expect(send(Buffer.from([0xff]))).toMatchObject({ replies: [], ended: { code: 3 } });
  });

  function read(type: Type, bytes: Buffer): Reply {
    return type.toObject(type.decode(bytes));
  }
});
