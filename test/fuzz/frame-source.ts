/** What a client may send on one connection, frame by frame at random: as it should, oddly but within the rules, or with hostility. */

import { gzipSync } from 'node:zlib';
import { Flag, FrameType } from '../../src/server/transport/http2/frames/frames';
import type { HeaderField } from '../../src/server/transport/http2/hpack/header-field';
import { SHOULD_RATE_LIMIT_PATH } from '../../src/server/transport/http2/connection/request-head';
import { loadProto } from '../../src/server/transport/messages/proto';
import type { WireRequest } from '../../src/server/transport/messages/wire';
import type { Random } from '../support/random/random';
import { frame, setting, uint32 } from '../unit/transport/http2/peer';
import { HpackWriter } from './hpack-writer';

export const TEMPERS = ['polite', 'odd', 'hostile'] as const;

export type Temper = (typeof TEMPERS)[number];

/** Streams that a polite client has open at once. */
const OPEN_MAX = 100;

/** The longest repetition of one frame: beyond every allowance. */
const FLOOD_FRAMES = 3000;

const PIECE_BYTES_MAX = 16_000;

const NO_BYTES = Buffer.alloc(0);

/** What polite calls of ShouldRateLimit ask. */
export const REQUEST: WireRequest = { domain: 'edge', descriptors: [{ entries: [{ key: 'user', value: 'zoe' }] }], hits_addend: 3 };

const MESSAGE = grpcMessage(loadProto().rateLimit.ShouldRateLimit.requestSerialize(REQUEST));

const CALL: readonly HeaderField[] = [
  { name: ':method', value: 'POST' },
  { name: ':path', value: SHOULD_RATE_LIMIT_PATH },
  { name: ':authority', value: 'rls' },
  { name: ':scheme', value: 'http' },
  { name: 'te', value: 'trailers' },
  { name: 'content-type', value: 'application/grpc' },
];

const CHECK_PATH = '/grpc.health.v1.Health/Check';

/** Of every kind of method: one message or many, in either direction. One that ends by itself, as a polite client waits for. */
const ENDING_PATHS: readonly string[] = [
  CHECK_PATH,
  '/grpc.health.v1.Health/List',
  '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo',
  '/kuadrant.service.ratelimit.v1.RateLimitService/CheckRateLimit',
];
export const OTHER_PATHS: readonly string[] = [
  ...ENDING_PATHS,
  '/grpc.health.v1.Health/Watch',
  '/weir.v1.ReservationService/Reserve',
  '/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo',
];

/** A request of reflection: names the services. */
const LIST_SERVICES = grpcMessage(Buffer.from([0x3a, 0x01, 0x2a]));

const PACKED = grpcMessage(gzipSync(loadProto().rateLimit.ShouldRateLimit.requestSerialize(REQUEST)), 1);

function grpcMessage(bytes: Buffer, flag = 0): Buffer {
  return Buffer.concat([Buffer.from([flag]), uint32(bytes.length), bytes]);
}

interface Sending {
  readonly id: number;
  left: Buffer;
}

export class FrameSource {
  /** What has to come next, as the CONTINUATION of a header block. */
  private readonly queue: Buffer[] = [];
  private readonly hpack: HpackWriter;
  private readonly sending: Sending[] = [];
  private lastId = -1;

  constructor(
    private readonly random: Random,
    readonly temper: Temper,
  ) {
    this.hpack = new HpackWriter(random);
  }

  /** The first frame has to be this one. */
  settings(): Buffer {
    const window = this.pick([setting(4, this.random(2) === 0 ? 0 : this.random(100_000)), NO_BYTES]);
    const frameBytes = this.pick([setting(5, 16_384 + this.random(20_000)), NO_BYTES]);
    return frame(FrameType.SETTINGS, 0, Buffer.concat([window, frameBytes]));
  }

  /** `open`: streams that the server has not ended. */
  next(open: number): Buffer {
    const queued = this.queue.shift();
    if (queued !== undefined) return queued;
    const dice = this.random(100);
    if (this.temper === 'hostile' && dice < 6) return this.hostile();
    if (this.temper !== 'polite' && dice < 30) return this.odd();
    if (dice < 34 && open < OPEN_MAX) return this.random(20) === 0 ? this.upload() : this.call(this.fields());
    return dice < 92 ? this.data() : this.upkeep();
  }

  /** The rest of all messages, so that each can be answered. */
  finish(): Buffer[] {
    const frames = this.queue.splice(0);
    while (this.sending.length > 0) frames.push(this.data(), ...this.queue.splice(0));
    return frames;
  }

  private fields(): HeaderField[] {
    const fields = [...CALL];
    const dice = this.random(20);
    if (dice < 3) fields[1] = { name: ':path', value: this.pick(this.temper === 'polite' ? ENDING_PATHS : OTHER_PATHS) };
    if (dice > 15) fields.push({ name: 'grpc-timeout', value: `${1 + this.random(50)}m` });
    if (dice === 10) fields.push({ name: 'x-request-id', value: String(this.random(1000)) });
    if (dice === 11) fields.push({ name: 'content-length', value: String(MESSAGE.length) });
    return fields;
  }

  /** A message of some frames, for another method. */
  private upload(): Buffer {
    return this.call(withPath('/a.Service/Upload'), grpcMessage(Buffer.alloc(this.random(40_000), 0x61)));
  }

  private call(fields: readonly HeaderField[], message = MESSAGE): Buffer {
    const id = this.newId();
    const block = this.random(50) === 0 ? this.hpack.resizedBlock(fields) : this.hpack.block(fields);
    this.sending.push({ id, left: message });
    return this.headers(id, block, 0);
  }

  /** HEADERS, now and then padded, with a priority, or cut. */
  private headers(id: number, block: Buffer, flags: number): Buffer {
    const dice = this.random(20);
    if (dice === 0) {
      const cut = this.random(block.length + 1);
      this.queue.push(frame(FrameType.CONTINUATION, id, block.subarray(cut), Flag.END_HEADERS));
      return frame(FrameType.HEADERS, id, block.subarray(0, cut), flags);
    }
    const padding = this.random(200);
    if (dice === 1)
      return frame(
        FrameType.HEADERS,
        id,
        Buffer.concat([Buffer.from([padding]), block, Buffer.alloc(padding)]),
        flags | Flag.END_HEADERS | Flag.PADDED,
      );
    if (dice === 2)
      return frame(FrameType.HEADERS, id, Buffer.concat([uint32(0), Buffer.from([15]), block]), flags | Flag.END_HEADERS | Flag.PRIORITY);
    return frame(FrameType.HEADERS, id, block, flags | Flag.END_HEADERS);
  }

  private data(): Buffer {
    const at = this.random(this.sending.length || 1);
    const sending = this.sending[at];
    if (sending === undefined) return this.call(this.fields());
    const { id, left } = sending;
    // Whole, mostly, as every client does.
    const size = Math.min(PIECE_BYTES_MAX, this.random(6) === 0 ? this.random(left.length) + 1 : left.length);
    const piece = left.subarray(0, size);
    sending.left = left.subarray(size);
    if (sending.left.length > 0) return frame(FrameType.DATA, id, piece);
    this.sending.splice(at, 1);
    const dice = this.random(20);
    if (dice === 0) {
      this.queue.push(
        this.random(2) === 0
          ? frame(FrameType.DATA, id, NO_BYTES, Flag.END_STREAM)
          : frame(FrameType.HEADERS, id, this.hpack.block([{ name: 'x-end', value: '1' }]), Flag.END_STREAM | Flag.END_HEADERS),
      );
      return frame(FrameType.DATA, id, piece);
    }
    return frame(FrameType.DATA, id, piece, Flag.END_STREAM);
  }

  private upkeep(): Buffer {
    switch (this.random(6)) {
      case 0:
        return frame(FrameType.PING, 0, Buffer.concat([uint32(this.random(2 ** 31)), uint32(0)]));
      case 1:
        return frame(
          FrameType.SETTINGS,
          0,
          this.pick([
            setting(4, this.random(70_000)),
            setting(1, 4096),
            setting(0xbabe, 1),
            setting(5, 16_384),
            this.random(20) === 0 ? setting(1, this.random(4096)) : NO_BYTES,
          ]),
        );
      case 2:
        return frame(FrameType.SETTINGS, 0, NO_BYTES, Flag.ACK);
      case 3: {
        const [first] = this.sending;
        return first === undefined ? this.call(this.fields()) : this.abandon(first.id);
      }
      case 4:
        return frame(FrameType.WINDOW_UPDATE, this.sending[0]?.id ?? 0, uint32(1 + this.random(10_000)));
      default:
        return frame(FrameType.WINDOW_UPDATE, 0, uint32(1 + this.random(60_000)));
    }
  }

  /** What no client needs, and none is cut off for: a stream may be. */
  private odd(): Buffer {
    const id = this.sending[this.random(this.sending.length || 1)]?.id;
    if (id === undefined) return this.call(this.fields());
    const cases: readonly (() => Buffer)[] = [
      () => frame(FrameType.PRIORITY, 1 + 2 * this.random(1000), Buffer.concat([uint32(0), Buffer.from([this.random(256)])])),
      () => frame(0xa0 + this.random(64), this.random(100), this.bytes(40)),
      () =>
        this.call([
          ...this.fields(),
          ...Array.from({ length: 60 + this.random(200) }, () => ({ name: 'x', value: 'y'.repeat(this.random(40)) })),
        ]),
      () => this.call([...this.fields(), { name: 'X-Upper', value: 'v' }]),
      () => this.call(this.fields().slice(1 + this.random(4))),
      () =>
        this.call([
          { name: ':method', value: this.pick(['GET', 'HEAD', 'POST']) },
          { name: ':path', value: '/' },
          { name: ':scheme', value: 'http' },
        ]),
      () => this.call([...this.fields(), { name: 'content-length', value: String(this.random(100)) }]),
      () => this.call(this.fields(), this.oddMessage()),
      () =>
        this.call(
          [...this.fields(), { name: 'grpc-encoding', value: this.pick(['gzip', 'deflate', 'snappy']) }],
          this.pick([PACKED, mutated(PACKED, this.random), MESSAGE]),
        ),
      () =>
        this.call(
          withPath(this.pick(OTHER_PATHS)),
          this.pick([MESSAGE, LIST_SERVICES, Buffer.concat(Array<Buffer>(this.random(40)).fill(LIST_SERVICES)), this.oddMessage()]),
        ),
      () => this.call(this.fields(), Buffer.concat([MESSAGE, MESSAGE])),
      () => this.call(this.fields(), grpcMessage(Buffer.alloc(this.random(40_000), 0x61))),
      () => this.headers(this.newId(), this.hpack.block(this.fields()), Flag.END_STREAM),
      () => frame(FrameType.WINDOW_UPDATE, id, uint32(this.random(2 ** 31))),
      () => frame(FrameType.SETTINGS, 0, setting(4, this.random(2 ** 31))),
      () => this.abandon(id),
      () => frame(FrameType.GOAWAY, 0, Buffer.concat([uint32(0, 0), this.bytes(20)])),
      () => frame(FrameType.PING, 0, Buffer.alloc(8), Flag.ACK),
    ];
    return this.pick(cases)();
  }

  private oddMessage(): Buffer {
    return this.pick([
      NO_BYTES,
      Buffer.from([0, 0]),
      Buffer.from([1, 0, 0, 0, 0]),
      Buffer.from([0, 255, 255, 255, 255]),
      Buffer.concat([Buffer.from([0]), uint32(this.random(100)), this.bytes(100)]),
    ]);
  }

  private hostile(): Buffer {
    const known = this.lastId > 0 ? 1 + 2 * this.random((this.lastId + 1) / 2) : 1;
    const cases: readonly (() => Buffer)[] = [
      () => frame(this.random(16), this.random(4) === 0 ? this.random(2 ** 31) : this.random(40), this.bytes(64), this.random(256)),
      () => mutated(this.data(), this.random),
      () => mutated(this.call(this.fields()), this.random),
      // A header block of anything, also Huffman codes and indices of nothing.
      () => frame(FrameType.HEADERS, this.newId(), this.bytes(200), Flag.END_HEADERS | this.random(2)),
      // A length that is not what follows.
      () => Buffer.concat([frame(this.random(10), known, this.bytes(30), this.random(256)).subarray(0, 9 + this.random(20))]),
      () => frame(FrameType.DATA, known, this.bytes(16_384), this.random(256)),
      () => frame(FrameType.HEADERS, known, this.hpack.block(this.fields()), this.random(256)),
      () => frame(FrameType.RST_STREAM, known, uint32(this.random(20))),
      () => frame(FrameType.WINDOW_UPDATE, this.pick([0, known]), uint32(this.pick([0, 2 ** 31 - 1, 2 ** 32 - 1]))),
      () => frame(FrameType.SETTINGS, 0, setting(this.random(8), this.pick([0, 1, 2, 16_383, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1]))),
      () => frame(FrameType.CONTINUATION, known, this.bytes(30), this.random(256)),
      () => frame(FrameType.PUSH_PROMISE, known, uint32(2)),
      () => this.bomb(),
      () => this.flood(),
    ];
    return this.pick(cases)();
  }

  /** A field of 4 KB is remembered once and named a thousand times. */
  private bomb(): Buffer {
    const value = Buffer.alloc(3900, 0x61);
    const remember = Buffer.concat([Buffer.from([0x40, 0x01, 0x78, 0x7f, 0xbd, 0x1d]), value]);
    return frame(FrameType.HEADERS, this.newId(), Buffer.concat([remember, Buffer.alloc(1000, 0xbe)]), Flag.END_HEADERS | Flag.END_STREAM);
  }

  private flood(): Buffer {
    const one = this.pick([
      frame(FrameType.PING, 0, Buffer.alloc(8)),
      frame(FrameType.SETTINGS, 0, setting(4, 0)),
      frame(FrameType.DATA, Math.max(1, this.lastId), NO_BYTES),
      frame(FrameType.CONTINUATION, Math.max(1, this.lastId), NO_BYTES),
      frame(FrameType.WINDOW_UPDATE, 0, uint32(1)),
      frame(0xbe, 0, NO_BYTES),
    ]);
    this.queue.push(...Array<Buffer>(this.random(FLOOD_FRAMES)).fill(one));
    return one;
  }

  private abandon(id: number): Buffer {
    this.sending.splice(
      this.sending.findIndex((one) => one.id === id),
      1,
    );
    return frame(FrameType.RST_STREAM, id, uint32(this.random(20)));
  }

  private newId(): number {
    // Now and then ids are left out.
    this.lastId += this.temper !== 'polite' && this.random(50) === 0 ? 4 : 2;
    return this.lastId;
  }

  private bytes(most: number): Buffer {
    const bytes = Buffer.allocUnsafe(this.random(most + 1));
    for (let at = 0; at < bytes.length; at += 1) bytes[at] = this.random(256);
    return bytes;
  }

  private pick<T>(choices: readonly T[]): T {
    return choices[this.random(choices.length)]!;
  }
}

function withPath(path: string): HeaderField[] {
  return CALL.map((field) => (field.name === ':path' ? { ...field, value: path } : field));
}

function mutated(bytes: Buffer, random: Random): Buffer {
  const copy = Buffer.from(bytes);
  for (let flips = 1 + random(3); flips > 0; flips -= 1) copy[random(copy.length)]! ^= 1 << random(8);
  return copy;
}
