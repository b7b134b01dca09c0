/** The load generator writes the keys, streams and schedule that a benchmark asks for. */

import { loadSync, type ServiceDefinition } from '@grpc/proto-loader';
import { encodeBody, frame, keyValue, MESSAGE_PREFIX_BYTES, prepareCalls } from '../../../bench/load/calls';
import { encodeHeaderBlocks } from '../../../bench/load/header-block';
import { keysOf } from '../../../bench/load/keys';
import { Latencies } from '../../../bench/load/latencies';
import { Schedule } from '../../../bench/load/schedule';
import { HpackDecoder } from '../../../src/server/transport/http2/hpack/hpack-decoder';
import { FRAME_HEADER_BYTES, FrameParser, FrameType, PREFACE, type Frame } from '../../../src/server/transport/http2/frames/frames';

const definitions = loadSync('envoy/service/ratelimit/v3/rls.proto', { includeDirs: ['proto'] });
const method = (definitions['envoy.service.ratelimit.v3.RateLimitService'] as ServiceDefinition).ShouldRateLimit!;

const ASKED = { domain: 'bench', entryKeys: ['user', 'tenant'] };

function parse(bytes: Buffer): { readonly type: number; readonly streamId: number; readonly payload: Buffer }[] {
  const frames: { type: number; streamId: number; payload: Buffer }[] = [];
  const parser = new FrameParser(({ type, streamId, bytes: all, start, end }: Frame) => {
    frames.push({ type, streamId, payload: Buffer.from(all.subarray(start, end)) });
  });
  parser.push(Buffer.concat([PREFACE, bytes]));
  return frames;
}

describe('a call', () => {
  test('a call is HEADERS and DATA of its stream, with its key in every descriptor', () => {
    const { first, later } = prepareCalls(ASKED);
    const bytes = Buffer.alloc(first.bytes + later.bytes);
    first.write(bytes, 0, { streamId: 2 ** 31 - 1, key: 9_999_999 });
    later.write(bytes, first.bytes, { streamId: 3, key: 40 });

    const frames = parse(bytes);
    expect(frames.map(({ type, streamId }) => [type, streamId])).toEqual([
      [FrameType.HEADERS, 2 ** 31 - 1],
      [FrameType.DATA, 2 ** 31 - 1],
      [FrameType.HEADERS, 3],
      [FrameType.DATA, 3],
    ]);
    const requests = [frames[1]!, frames[3]!].map(({ payload }) => method.requestDeserialize(payload.subarray(MESSAGE_PREFIX_BYTES)));
    const descriptorsOf = (key: number) => ['user', 'tenant'].map((entryKey) => ({ entries: [{ key: entryKey, value: keyValue(key) }] }));
    expect(requests).toMatchObject([
      { domain: 'bench', descriptors: descriptorsOf(9_999_999) },
      { domain: 'bench', descriptors: descriptorsOf(40) },
    ]);
  });

  test('a call written over another leaves nothing of it', () => {
    const { later: call } = prepareCalls(ASKED);
    const [fresh, used] = [Buffer.alloc(call.bytes), Buffer.alloc(call.bytes)];
    call.write(used, 0, { streamId: 9, key: 7_654_321 });
    for (const bytes of [fresh, used]) call.write(bytes, 0, { streamId: 1, key: 5 });
    expect(used).toEqual(fresh);
  });

  test('a call counts its part of the window', () => {
    expect(prepareCalls(ASKED).later.dataBytes).toBe(encodeBody(ASKED).length);
  });

  test('a peer reads the same headers, the first time in full and then by index', () => {
    const fields = [
      { name: ':method', value: 'POST' },
      { name: ':path', value: '/any' },
      { name: 'te', value: 'trailers' },
      { name: ':scheme', value: 'http' },
      { name: 'x-forwarded-for', value: '10.0.0.7' },
    ];
    const { first, later } = encodeHeaderBlocks(fields);
    const decoder = new HpackDecoder();
    const decode = (block: Buffer) => decoder.decode(block).fields;
    expect([decode(first), decode(later), decode(later)]).toEqual([fields, fields, fields]);
    expect(later.length).toBe(fields.length);
    expect(() => encodeHeaderBlocks([{ name: 'te', value: 'x'.repeat(127) }])).toThrow('does not fit');
  });

  test('a frame starts with its length, type, flags and stream', () => {
    const bytes = frame({ type: FrameType.PING, flags: 1, streamId: 5, payload: Buffer.from('12345678') });
    expect(bytes.length).toBe(FRAME_HEADER_BYTES + 8);
    expect(parse(bytes)).toEqual([{ type: FrameType.PING, streamId: 5, payload: Buffer.from('12345678') }]);
  });
});

describe('keys', () => {
  test('random keys stay within bounds, cover nearly all, and repeat with their seed', () => {
    const count = 1000;
    const draw = (seed: number): number[] => {
      const next = keysOf({ count, order: { seed } });
      return Array.from({ length: 10 * count }, next);
    };
    const drawn = draw(7);
    expect(drawn).toEqual(draw(7));
    expect(drawn).not.toEqual(draw(8));
    expect(Math.min(...drawn)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...drawn)).toBeLessThan(count);
    expect(new Set(drawn).size).toBeGreaterThan(0.99 * count);
  });

  test('keys in turn come once each, and again', () => {
    const next = keysOf({ count: 3, order: 'in_turn' });
    expect(Array.from({ length: 7 }, next)).toEqual([0, 1, 2, 0, 1, 2, 0]);
  });

  test('one key is the same for all calls', () => {
    expect(Array.from({ length: 3 }, keysOf({ count: 1, order: { seed: 3 } }))).toEqual([0, 0, 0]);
  });
});

describe('a schedule', () => {
  const makeSchedule = () => new Schedule({ startMs: 1000, perSecond: 2000, durationMs: 10 });

  test('calls are due at even intervals, the first at once', () => {
    const schedule = makeSchedule();
    expect(schedule.dueBy(999.9)).toBe(0);
    expect(schedule.dueBy(1000)).toBe(1);
    expect(schedule.dueBy(1000.4)).toBe(1);
    expect(schedule.dueBy(1000.5)).toBe(2);
    expect([schedule.take(), schedule.take()]).toEqual([1000, 1000.5]);
    expect(schedule.dueBy(1000.9)).toBe(0);
  });

  test('after a stall all missed calls are due, each at its own time, without extra ones', () => {
    const schedule = makeSchedule();
    expect(schedule.dueBy(60_000)).toBe(20);
    const dueMs = Array.from({ length: 20 }, () => schedule.take());
    expect(dueMs.at(-1)).toBe(1009.5);
    expect(schedule.isOver).toBe(true);
    expect(schedule.dueBy(60_000)).toBe(0);
  });
});

describe('latencies', () => {
  test('quantiles are observed values, in any order', () => {
    const latencies = new Latencies();
    for (let value = 10_000; value >= 1; value -= 1) latencies.add(value / 10);
    expect(latencies.quantiles()).toEqual({ p50: 500, p99: 990, p999: 999 });
  });

  test('the quantile of one call is that call, and of none an error', () => {
    const latencies = new Latencies();
    expect(() => latencies.quantiles()).toThrow('no calls');
    latencies.add(0.25);
    expect(latencies.quantiles()).toEqual({ p50: 0.25, p99: 0.25, p999: 0.25 });
  });
});
