/** A receiver of traces: OTLP over HTTP/protobuf and over gRPC on two ports. It keeps every span that it accepts. */
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { gunzipSync } from 'node:zlib';
import { Server, ServerCredentials, status, type sendUnaryData, type ServerUnaryCall } from '@grpc/grpc-js';
import { load, type Type } from 'protobufjs';
import { until } from '../clock/until';

const EXPORT = '/opentelemetry.proto.collector.trace.v1.TraceService/Export';

export type AttributeValue = string | number | boolean | readonly AttributeValue[];

export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  /** Empty: it has none. */
  readonly parentSpanId: string;
  readonly traceState: string;
  readonly name: string;
  /** 1: internal, 2: server, 3: client. */
  readonly kind: number;
  readonly startNs: bigint;
  readonly endNs: bigint;
  readonly isError: boolean;
  readonly attributes: Readonly<Record<string, AttributeValue>>;
  /** The version of the conventions that its names follow. */
  readonly schemaUrl: string;
  readonly resource: Readonly<Record<string, AttributeValue>>;
}

export interface OtlpReceiver {
  readonly httpPort: number;
  readonly grpcPort: number;
  readonly spans: readonly ReceivedSpan[];
  /** The headers of the last request over HTTP. */
  headers(): IncomingMessage['headers'];
  /** What it does with requests: `accept`, answer an error that may not be retried, or never answer. */
  behave(how: Behaviour): void;
  /** Requests of all kinds. */
  requests(): number;
  close(): Promise<void>;
}

type Behaviour = 'accept' | 'refuse' | 'hang';

export async function startOtlpReceiver(): Promise<OtlpReceiver> {
  const root = await load(path.join(__dirname, 'otlp.proto'));
  const type = root.lookupType('ExportTraceServiceRequest');
  const spans: ReceivedSpan[] = [];
  let behaviour: Behaviour = 'accept';
  let requests = 0;
  let headers: IncomingMessage['headers'] = {};

  const http = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.once('end', () => {
      requests += 1;
      headers = request.headers;
      if (behaviour === 'hang') return;
      if (behaviour === 'refuse') {
        response.writeHead(400).end();
        return;
      }
      const body = Buffer.concat(chunks);
      if (request.url !== '/v1/traces') throw new Error(`a request for ${String(request.url)}`);
      spans.push(...spansIn(type, headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body));
      response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end();
    });
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));

  const grpc = new Server();
  const asIs = (bytes: Buffer): Buffer => bytes;
  const method = { path: EXPORT, requestStream: false, responseStream: false, requestSerialize: asIs, requestDeserialize: asIs };
  grpc.addService(
    { export: { ...method, responseSerialize: asIs, responseDeserialize: asIs } },
    {
      export: (call: ServerUnaryCall<Buffer, Buffer>, done: sendUnaryData<Buffer>) => {
        requests += 1;
        if (behaviour === 'hang') return;
        if (behaviour === 'refuse') {
          done({ code: status.INVALID_ARGUMENT, details: 'refused' });
          return;
        }
        spans.push(...spansIn(type, call.request));
        done(null, Buffer.alloc(0));
      },
    },
  );
  const grpcPort = await new Promise<number>((resolve, reject) => {
    grpc.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) => {
      if (error === null) resolve(port);
      else reject(error);
    });
  });

  return {
    httpPort: (http.address() as AddressInfo).port,
    grpcPort,
    spans,
    headers: () => headers,
    behave: (how) => {
      behaviour = how;
    },
    requests: () => requests,
    close: async () => {
      grpc.forceShutdown();
      http.closeAllConnections();
      await new Promise((resolve) => http.close(resolve));
    },
  };
}

/** The spans with the attribute, once there are as many. */
export async function untilSpans(
  receiver: OtlpReceiver,
  count: number,
  isWanted: (span: ReceivedSpan) => boolean,
): Promise<readonly ReceivedSpan[]> {
  const wanted = () => receiver.spans.filter(isWanted);
  await until(() => wanted().length >= count).catch(() => {
    const seen = receiver.spans.map(({ name, attributes }) => `${name} ${JSON.stringify(attributes)}`);
    throw new Error(`received ${wanted().length} of ${count} spans; all:\n${seen.slice(-20).join('\n')}`);
  });
  return wanted();
}

interface WireValue {
  readonly stringValue?: string;
  readonly boolValue?: boolean;
  readonly intValue?: string;
  readonly doubleValue?: number;
  readonly arrayValue?: { readonly values?: readonly WireValue[] };
}

interface WireKeyValue {
  readonly key: string;
  readonly value: WireValue;
}

interface WireSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly traceState?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes?: readonly WireKeyValue[];
  readonly status?: { readonly code?: number };
}

interface WireExport {
  readonly resourceSpans?: readonly {
    readonly resource?: { readonly attributes?: readonly WireKeyValue[] };
    readonly scopeSpans?: readonly { readonly schemaUrl?: string; readonly spans?: readonly WireSpan[] }[];
  }[];
}

const STATUS_ERROR = 2;

function spansIn(type: Type, bytes: Buffer): ReceivedSpan[] {
  // Numbers of 64 bits as text for times, whose nanoseconds a number cannot hold.
  const message = type.toObject(type.decode(bytes), { longs: String, bytes: String }) as WireExport;
  return (message.resourceSpans ?? []).flatMap(({ resource, scopeSpans = [] }) =>
    scopeSpans.flatMap(({ schemaUrl = '', spans = [] }) =>
      spans.map((span) => ({
        traceId: hex(span.traceId),
        spanId: hex(span.spanId),
        parentSpanId: hex(span.parentSpanId ?? ''),
        traceState: span.traceState ?? '',
        name: span.name,
        kind: span.kind,
        startNs: BigInt(span.startTimeUnixNano),
        endNs: BigInt(span.endTimeUnixNano),
        isError: span.status?.code === STATUS_ERROR,
        attributes: asRecord(span.attributes),
        schemaUrl,
        resource: asRecord(resource?.attributes),
      })),
    ),
  );
}

function hex(base64: string): string {
  return Buffer.from(base64, 'base64').toString('hex');
}

function asRecord(attributes: readonly WireKeyValue[] = []): Record<string, AttributeValue> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, asValue(value)]));
}

function asValue({ stringValue, boolValue, intValue, doubleValue, arrayValue }: WireValue): AttributeValue {
  if (arrayValue !== undefined) return (arrayValue.values ?? []).map(asValue);
  return stringValue ?? boolValue ?? (intValue === undefined ? (doubleValue ?? '') : Number(intValue));
}
