/** What a generator asks: one call of ShouldRateLimit as frames, made once, and varied in place by stream and key. */

import { FRAME_HEADER_BYTES, Flag, FrameType } from '../../src/server/transport/http2/frames/frames';
import { SHOULD_RATE_LIMIT_PATH } from '../../src/server/transport/http2/connection/request-head';
import { loadProto } from '../../src/server/transport/messages/proto';
import { encodeHeaderBlocks } from './header-block';

/** As Envoy sends them: what a connection has said once it says by number. */
const HEADERS = encodeHeaderBlocks([
  { name: ':method', value: 'POST' },
  { name: ':path', value: SHOULD_RATE_LIMIT_PATH },
  { name: ':authority', value: 'rls' },
  { name: ':scheme', value: 'http' },
  { name: 'te', value: 'trailers' },
  { name: 'grpc-timeout', value: '5000m' },
  { name: 'content-type', value: 'application/grpc' },
  { name: 'x-envoy-internal', value: 'true' },
  { name: 'x-forwarded-for', value: '10.0.0.7' },
  { name: 'x-envoy-expected-rq-timeout-ms', value: '5000' },
]);

/** Where a message stands in its DATA frame: behind a flag and its length. */
export const MESSAGE_PREFIX_BYTES = 5;

const KEY_DIGITS = 7;
const [ZERO, BASE] = [0x30, 10];

export interface Asked {
  readonly domain: string;
  /** One descriptor for each, of this entry key; all have the same value, made of the key's number. */
  readonly entryKeys: readonly string[];
  /** Of each descriptor, its own: 0 is a check, and under a limit with overdraft others are a usage report. Absent: none. */
  readonly hits?: number;
}

/** The value of key number `key`: always of one length, so that it can be written where another stood. */
export function keyValue(key: number): string {
  return `id-${String(key).padStart(KEY_DIGITS, '0')}`;
}

/** The message for key 0, behind its prefix: what a DATA frame carries. */
export function encodeBody({ domain, entryKeys, hits }: Asked): Buffer {
  const descriptors = entryKeys.map((key) => ({
    entries: [{ key, value: keyValue(0) }],
    ...(hits !== undefined && { hits_addend: { value: String(hits) } }),
  }));
  const message = loadProto().rateLimit.ShouldRateLimit.requestSerialize({ domain, descriptors });
  const prefix = Buffer.alloc(MESSAGE_PREFIX_BYTES);
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}

/** The first call of a connection, which says its headers in full, and the later ones. */
export interface Calls {
  readonly first: Call;
  readonly later: Call;
}

export function prepareCalls(asked: Asked): Calls {
  const body = encodeBody(asked);
  return { first: new Call(HEADERS.first, body), later: new Call(HEADERS.later, body) };
}

export class Call {
  readonly dataBytes: number;
  private readonly frames: Buffer;
  private readonly dataAt: number;
  /** Where the digits of each descriptor's value begin. */
  private readonly digitsAt: readonly number[];

  constructor(headerBlock: Buffer, body: Buffer) {
    this.dataBytes = body.length;
    const headers = frame({ type: FrameType.HEADERS, flags: Flag.END_HEADERS, payload: headerBlock });
    this.frames = Buffer.concat([headers, frame({ type: FrameType.DATA, flags: Flag.END_STREAM, payload: body })]);
    this.dataAt = headers.length;
    this.digitsAt = placesOf(this.frames, keyValue(0)).map((at) => at + keyValue(0).length - KEY_DIGITS);
  }

  get bytes(): number {
    return this.frames.length;
  }

  write(target: Buffer, at: number, { streamId, key }: { readonly streamId: number; readonly key: number }): void {
    this.frames.copy(target, at);
    target.writeUInt32BE(streamId, at + 5);
    target.writeUInt32BE(streamId, at + this.dataAt + 5);
    for (const digitsAt of this.digitsAt) {
      let rest = key;
      for (let digit = at + digitsAt + KEY_DIGITS - 1; rest > 0; digit -= 1) {
        target[digit] = ZERO + (rest % BASE);
        rest = Math.floor(rest / BASE);
      }
    }
  }
}

function placesOf(bytes: Buffer, text: string): number[] {
  const places: number[] = [];
  for (let at = bytes.indexOf(text, 0, 'latin1'); at >= 0; at = bytes.indexOf(text, at + 1, 'latin1')) places.push(at);
  return places;
}

export interface FrameInput {
  readonly type: number;
  readonly flags?: number;
  readonly streamId?: number;
  readonly payload?: Buffer;
}

export function frame({ type, flags = 0, streamId = 0, payload = Buffer.alloc(0) }: FrameInput): Buffer {
  const header = Buffer.alloc(FRAME_HEADER_BYTES);
  header.writeUIntBE(payload.length, 0, 3);
  header[3] = type;
  header[4] = flags;
  header.writeUInt32BE(streamId, 5);
  return Buffer.concat([header, payload]);
}
