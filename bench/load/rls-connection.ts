/** One HTTP/2 connection of a generator: sends prepared calls as the peer's windows allow, and reads what became of each. */

import { connect, type Socket } from 'node:net';
import { FRAME_HEADER_BYTES, Flag, FrameType, PREFACE } from '../../src/server/transport/http2/frames/frames';
import { frame, MESSAGE_PREFIX_BYTES, type Call, type Calls } from './calls';

/** Memory for calls is taken in pieces: of one connection alone, and the least of one among many. */
const PIECE_BYTES = 1024 * 1024;
const PIECE_BYTES_MIN = 8 * 1024;

const WINDOW_AT_FIRST = 65_535;
const WINDOW_MAX = 2 ** 31 - 1;
const SETTING_BYTES = 6;
const SETTING_STREAMS_MAX = 3;

/** In a message of an answer: field 1, a varint, which is `overall_code`. */
const OVERALL_CODE_TAG = 0x08;
const [CODE_OK, CODE_OVER_LIMIT] = [1, 2];
/** Of a call that is under way; 0 is a free slot. */
const NO_CODE_YET = 255;
const NEITHER = 254;

export type Outcome = 'admitted' | 'denied' | 'failed';

export interface RlsConnectionOptions {
  readonly host: string;
  readonly port: number;
  readonly calls: Calls;
  /** Calls under way at most; a power of two, so that no two share a slot. */
  readonly slots: number;
  /** Connections of the same generator. */
  readonly sharedBy: number;
  readonly onAnswer: (answer: { readonly outcome: Outcome; readonly key: number; readonly dueMs: number; readonly sentMs: number }) => void;
  /** After all answers that one read has brought. */
  readonly onAnswers: () => void;
  /** It ended, or the peer does not keep to HTTP/2 or gRPC. */
  readonly onBroken: (reason: string) => void;
}

export class RlsConnection {
  private readonly socket: Socket;
  private readonly codes: Uint8Array;
  private readonly keys: Uint32Array;
  private readonly dueMs: Float64Array;
  private readonly sentMs: Float64Array;
  private readonly pieceBytes: number;
  private underWay = 0;
  private nextId = 1;
  private call: Call;
  private streamsMax: number;
  private hasSettings = false;
  private sendWindow = WINDOW_AT_FIRST;
  private piece: Buffer;
  private from = 0;
  private to = 0;
  private rest: Buffer | undefined;

  constructor(private readonly options: RlsConnectionOptions) {
    const { host, port, calls, slots, sharedBy, onBroken } = options;
    this.codes = new Uint8Array(slots);
    this.keys = new Uint32Array(slots);
    this.dueMs = new Float64Array(slots);
    this.sentMs = new Float64Array(slots);
    this.streamsMax = slots;
    this.pieceBytes = Math.max(PIECE_BYTES_MIN, Math.floor(PIECE_BYTES / sharedBy));
    this.piece = Buffer.allocUnsafe(this.pieceBytes);
    this.call = calls.first;
    this.socket = connect({ host, port, noDelay: true });
    this.socket.on('data', (chunk: Buffer) => {
      this.read(chunk);
    });
    this.socket.on('error', (error) => {
      onBroken(error.message);
    });
    this.socket.on('close', () => {
      onBroken('the connection was closed');
    });
    const window = Buffer.alloc(4);
    window.writeUInt32BE(WINDOW_MAX - WINDOW_AT_FIRST);
    this.socket.write(
      Buffer.concat([PREFACE, frame({ type: FrameType.SETTINGS }), frame({ type: FrameType.WINDOW_UPDATE, payload: window })]),
    );
  }

  /** Whether the server's settings have arrived. */
  get isReady(): boolean {
    return this.hasSettings;
  }

  get inFlight(): number {
    return this.underWay;
  }

  /** Whether the peer's windows and bounds allow one call more. */
  get canAsk(): boolean {
    return this.underWay < this.streamsMax && this.sendWindow >= this.call.dataBytes && this.codes[this.slotOf(this.nextId)] === 0;
  }

  /** Sent at the next `flush`. */
  ask({ key, dueMs, sentMs }: { readonly key: number; readonly dueMs: number; readonly sentMs: number }): void {
    const { call } = this;
    this.call = this.options.calls.later;
    if (this.to + call.bytes > this.piece.length) {
      this.flush();
      // What was written before may still be on its way out.
      this.piece = Buffer.allocUnsafe(this.pieceBytes);
      this.from = this.to = 0;
    }
    call.write(this.piece, this.to, { streamId: this.nextId, key });
    this.to += call.bytes;
    const slot = this.slotOf(this.nextId);
    this.codes[slot] = NO_CODE_YET;
    this.keys[slot] = key;
    this.dueMs[slot] = dueMs;
    this.sentMs[slot] = sentMs;
    this.nextId += 2;
    this.underWay += 1;
    this.sendWindow -= call.dataBytes;
  }

  flush(): void {
    if (this.to === this.from) return;
    this.socket.write(this.piece.subarray(this.from, this.to));
    this.from = this.to;
  }

  close(): void {
    this.socket.removeAllListeners('close');
    this.socket.destroy();
  }

  private read(chunk: Buffer): void {
    const bytes = this.rest === undefined ? chunk : Buffer.concat([this.rest, chunk]);
    let at = 0;
    while (at + FRAME_HEADER_BYTES <= bytes.length) {
      const payloadBytes = (bytes[at]! << 16) | (bytes[at + 1]! << 8) | bytes[at + 2]!;
      const end = at + FRAME_HEADER_BYTES + payloadBytes;
      if (end > bytes.length) break;
      this.readFrame(bytes, at, end);
      at = end;
    }
    this.rest = at === bytes.length ? undefined : Buffer.from(bytes.subarray(at));
    this.options.onAnswers();
  }

  private readFrame(bytes: Buffer, at: number, end: number): void {
    const flags = bytes[at + 4]!;
    const start = at + FRAME_HEADER_BYTES;
    switch (bytes[at + 3]!) {
      case FrameType.DATA:
        this.takeMessage(this.slotOf(streamIdOf(bytes, at)), bytes.subarray(start, end));
        return;
      case FrameType.HEADERS:
        if ((flags & Flag.END_STREAM) !== 0) this.finish(streamIdOf(bytes, at));
        return;
      case FrameType.RST_STREAM:
        this.codes[this.slotOf(streamIdOf(bytes, at))] = NEITHER;
        this.finish(streamIdOf(bytes, at));
        return;
      case FrameType.SETTINGS:
        if ((flags & Flag.ACK) === 0) this.takeSettings(bytes.subarray(start, end));
        return;
      case FrameType.PING:
        if ((flags & Flag.ACK) === 0)
          this.socket.write(frame({ type: FrameType.PING, flags: Flag.ACK, payload: bytes.subarray(start, end) }));
        return;
      case FrameType.WINDOW_UPDATE:
        // Of a stream: its own window is larger than any call.
        if (streamIdOf(bytes, at) === 0) this.sendWindow += bytes.readUInt32BE(start);
        return;
      case FrameType.GOAWAY:
        this.options.onBroken(`GOAWAY with error ${bytes.readUInt32BE(start + 4)}`);
        return;
      default:
        return;
    }
  }

  private slotOf(streamId: number): number {
    return (streamId >>> 1) & (this.codes.length - 1);
  }

  /** Small as it is, it comes in one frame; some servers send an empty one behind it. */
  private takeMessage(slot: number, data: Buffer): void {
    if (data.length > 0 && this.codes[slot] === NO_CODE_YET) this.codes[slot] = readOverallCode(data);
  }

  /** An answer without a message is an error, whatever its trailers say. */
  private finish(streamId: number): void {
    const slot = this.slotOf(streamId);
    const code = this.codes[slot]!;
    if (code === 0) return;
    this.codes[slot] = 0;
    this.underWay -= 1;
    const outcome = code === CODE_OK ? 'admitted' : code === CODE_OVER_LIMIT ? 'denied' : 'failed';
    this.options.onAnswer({ outcome, key: this.keys[slot]!, dueMs: this.dueMs[slot]!, sentMs: this.sentMs[slot]! });
  }

  private takeSettings(settings: Buffer): void {
    this.hasSettings = true;
    for (let at = 0; at < settings.length; at += SETTING_BYTES) {
      if (settings.readUInt16BE(at) === SETTING_STREAMS_MAX) this.streamsMax = Math.min(this.codes.length, settings.readUInt32BE(at + 2));
    }
    this.socket.write(frame({ type: FrameType.SETTINGS, flags: Flag.ACK }));
  }
}

function streamIdOf(bytes: Buffer, at: number): number {
  return bytes.readUInt32BE(at + 5) & WINDOW_MAX;
}

/** Every encoder writes `overall_code` first, as its number is the lowest; an answer that has none is neither. */
function readOverallCode(data: Buffer): number {
  const code = data[MESSAGE_PREFIX_BYTES] === OVERALL_CODE_TAG ? data[MESSAGE_PREFIX_BYTES + 1] : undefined;
  return code === CODE_OK || code === CODE_OVER_LIMIT ? code : NEITHER;
}
