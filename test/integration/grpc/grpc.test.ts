/** Both transports answer ShouldRateLimit alike, and reject a request by its counts before decoding it. */

import { status } from '@grpc/grpc-js';
import { UnavailableError } from '../../../src/lib/errors';
import type { WireRequest } from '../../../src/server/transport/messages/wire';
import { allow, deferred, Harness, lengthDelimited, TRANSPORTS } from '../../support/servers/transport-harness';

const OK_REQUEST: WireRequest = { domain: 'edge', descriptors: [{ entries: [{ key: 'user', value: 'zoe' }] }] };

function withLimit(limit: object): WireRequest {
  return { domain: 'edge', descriptors: [{ entries: [], limit }] };
}

describe.each(TRANSPORTS)('ShouldRateLimit over gRPC (%s)', (transport) => {
  let harness: Harness;

  beforeEach(async () => {
    harness = await Harness.start(transport);
  });

  afterEach(() => harness.stop());

  it('the server answers with the decision, in wire form', async () => {
    harness.decide = () =>
      Promise.resolve({
        overallCode: 'OVER_LIMIT',
        statuses: [
          {
            code: 'OVER_LIMIT',
            currentLimit: {
              requestsPerUnit: 4294967295,
              unit: 'week',
              unitMultiplier: 2,
              name: 'plan',
              algorithm: 'fixed_window',
              windowUs: 1,
              capacity: 1,
            },
            limitRemaining: 0,
            durationUntilResetUs: 1_000_001,
            fits: false,
            denies: true,
          },
          { code: 'OK', limitRemaining: 4294967295, fits: true, denies: false },
        ],
      });
    const response = await harness.ask(OK_REQUEST);
    expect(JSON.parse(JSON.stringify(response))).toEqual({
      overall_code: 2,
      statuses: [
        {
          code: 2,
          current_limit: { requests_per_unit: 4294967295, unit: 7, name: 'plan', unit_multiplier: { value: 2 } },
          limit_remaining: 0,
          duration_until_reset: { seconds: '2' },
        },
        { code: 1, limit_remaining: 4294967295 },
      ],
    });
  });

  it.each<[string, WireRequest, RegExp]>([
    ['an empty domain', { ...OK_REQUEST, domain: '' }, /^rate limit domain must not be empty$/],
    ['no descriptors', { domain: 'edge' }, /descriptor list must not be empty/],
    [
      'too many descriptors',
      { domain: 'edge', descriptors: Array(129).fill({ entries: [] }) as [] },
      /^descriptors has over 128 items; send at most 128$/,
    ],
    [
      '10,000 entries',
      { domain: 'edge', descriptors: [{ entries: Array(10_000).fill({ key: 'k', value: 'v' }) as [] }] },
      /^descriptors\[0\]\.entries has over 64 items; send at most 64$/,
    ],
    [
      'a value of 1 MB',
      { domain: 'edge', descriptors: [{ entries: [{ key: 'k', value: 'x'.repeat(1_000_000) }] }] },
      /^descriptors\[0\]\.entries\[0\]\.value has 1000000 bytes/,
    ],
    ['a domain of 65,537 bytes', { ...OK_REQUEST, domain: 'd'.repeat(65_537) }, /^domain has 65537 bytes; send at most 65536$/],
    ['an override without unit', withLimit({ requests_per_unit: 1 }), /^descriptors\[0\]\.limit\.unit is UNKNOWN; set SECOND/],
    ['an override of unit 99', withLimit({ requests_per_unit: 1, unit: 99 }), /^descriptors\[0\]\.limit\.unit is 99; set SECOND/],
    [
      'an override of 0 units',
      withLimit({ unit: 1, unit_multiplier: { value: 0 } }),
      /^descriptors\[0\]\.limit\.unit_multiplier must be a whole number from 1/,
    ],
    [
      'an override of 0 units, left out on the wire',
      withLimit({ unit: 1, unit_multiplier: {} }),
      /^descriptors\[0\]\.limit\.unit_multiplier must be a whole number from 1/,
    ],
    [
      'an override of 101 years',
      withLimit({ unit: 6, unit_multiplier: { value: 101 } }),
      /^descriptors\[0\]\.limit\.unit_multiplier makes a window of over 100 years/,
    ],
  ])('the server rejects %s with INVALID_ARGUMENT', async (_name, request, message) => {
    await expect(harness.ask(request)).rejects.toMatchObject({
      code: status.INVALID_ARGUMENT,
      details: expect.stringMatching(message) as string,
    });
    expect(harness.requests).toEqual([]);
    expect(harness.failures).toEqual(['bad_request']);
  });

  it.each([
    ['a field that ends early', Buffer.from([0x0a, 0x7f, 0x61])],
    ['a wire type that does not exist', Buffer.from([0x0f])],
    ['a varint without end', Buffer.alloc(20, 0xff)],
  ])('the server rejects bytes that are not a message (%s) with INVALID_ARGUMENT, and goes on', async (_name, bytes) => {
    await expect(harness.askBytes(bytes)).rejects.toMatchObject({ code: status.INVALID_ARGUMENT });
    await expect(harness.ask(OK_REQUEST)).resolves.toMatchObject({ overall_code: 1 });
  });

  it('the server rejects a message over 4 MiB before it decodes it, and goes on', async () => {
    await expect(harness.askBytes(Buffer.alloc(4 * 1024 * 1024 + 1))).rejects.toMatchObject({ code: status.RESOURCE_EXHAUSTED });
    await expect(harness.ask(OK_REQUEST)).resolves.toMatchObject({ overall_code: 1 });
  });

  it('NUL and invalid UTF-8 stay bytes of their own', async () => {
    const value = Buffer.from([0x68, 0xc3, 0xa9, 0x00, 0xff, 0x80]);
    const entry = lengthDelimited(1, Buffer.concat([lengthDelimited(1, Buffer.from([0xfe])), lengthDelimited(2, value)]));
    await harness.askBytes(Buffer.concat([lengthDelimited(1, Buffer.from([0x64, 0xff])), lengthDelimited(2, entry)]));
    expect(harness.requests).toEqual([
      { domain: 'd\xff', descriptors: [{ entries: [{ key: '\xfe', value: 'h\xc3\xa9\0\xff\x80' }] }], hits: 1 },
    ]);
  });

  it('hits of every size arrive without loss', async () => {
    await harness.ask({
      ...OK_REQUEST,
      hits_addend: 4294967295,
      descriptors: [
        { hits_addend: { value: '18446744073709551615' } },
        { hits_addend: { value: '9223372036854775808' } },
        { hits_addend: { value: '4294967295' } },
        { hits_addend: {} },
        { hits_addend: { value: '3' }, is_negative_hits: true },
        {},
      ],
    });
    expect(harness.requests[0]?.hits).toBe(4294967295);
    expect(harness.requests[0]?.descriptors.map(({ hits }) => hits)).toEqual([2 ** 53, 2 ** 53, 4294967295, 0, -3, undefined]);
  });

  it('the server rejects two million empty descriptors by their bytes, without creating them', async () => {
    const bytes = Buffer.concat([lengthDelimited(1, Buffer.from('d')), Buffer.alloc(4_000_000, Buffer.from([0x12, 0x00]))]);
    const heapBefore = process.memoryUsage().heapUsed;
    await expect(harness.askBytes(bytes)).rejects.toMatchObject({
      code: status.INVALID_ARGUMENT,
      details: 'descriptors has over 128 items; send at most 128',
    });
    // Decoded they take over 300 MB.
    expect(process.memoryUsage().heapUsed - heapBefore).toBeLessThan(100_000_000);
  });

  it.each([
    ['descriptors', Buffer.from([0x10, 0x00])],
    ['entries of one descriptor', Buffer.from([0x08, 0x00])],
  ])('the server rejects a million %s under another wire type, which the decoder would accept', async (what, piece) => {
    const many = Buffer.alloc(2_000_000, piece);
    const length = Buffer.from([0x12, 0x80, 0x89, 0x7a]);
    const bytes = Buffer.concat([lengthDelimited(1, Buffer.from('d')), ...(what === 'descriptors' ? [many] : [length, many])]);
    const heapBefore = process.memoryUsage().heapUsed;
    await expect(harness.askBytes(bytes)).rejects.toMatchObject({
      code: status.INVALID_ARGUMENT,
      details: 'the message is not a valid envoy.service.ratelimit.v3.RateLimitRequest',
    });
    expect(process.memoryUsage().heapUsed - heapBefore).toBeLessThan(100_000_000);
  });

  it('the server accepts WEEK in an override', async () => {
    await harness.ask(withLimit({ requests_per_unit: 9, unit: 7 }));
    expect(harness.requests[0]?.descriptors).toEqual([{ entries: [], override: { requestsPerUnit: 9, unit: 'week', unitMultiplier: 1 } }]);
  });

  it("the decision gets the caller's deadline, or none", async () => {
    await harness.ask(OK_REQUEST, { deadline: Date.now() + 5_000 });
    await harness.ask(OK_REQUEST);
    expect(harness.calls[0]?.timeoutMs).toBeGreaterThan(0);
    expect(harness.calls[0]?.timeoutMs).toBeLessThanOrEqual(5_000);
    expect(harness.calls[1]).toEqual({});
  });

  it('a caller is answered at its deadline while the decision runs, and so is the next one', async () => {
    const decided = deferred();
    harness.decide = async (request) => {
      await decided.promise;
      return allow(request);
    };
    await expect(harness.ask(OK_REQUEST, { deadline: Date.now() + 60 })).rejects.toMatchObject({ code: status.DEADLINE_EXCEEDED });
    decided.resolve();
    await expect(harness.ask(OK_REQUEST)).resolves.toMatchObject({ overall_code: 1 });
  });

  it('the server answers UNAVAILABLE with its message if nothing can decide', async () => {
    harness.decide = () => Promise.reject(new UnavailableError('redis does not answer'));
    await expect(harness.ask(OK_REQUEST)).rejects.toMatchObject({ code: status.UNAVAILABLE, details: 'redis does not answer' });
    expect(harness.failures).toEqual(['unavailable']);
    expect(harness.faults).toEqual([]);
  });

  it.each<[string, () => Promise<never>]>([
    ['rejects', () => Promise.reject(new Error('key user=zoe broke'))],
    [
      'throws',
      () => {
        throw new Error('key user=zoe broke');
      },
    ],
  ])('the server answers INTERNAL without details if the decision %s, and logs the error', async (_name, decide) => {
    harness.decide = decide;
    const details = 'internal error; see the log of the rate limit service';
    await expect(harness.ask(OK_REQUEST)).rejects.toMatchObject({ code: status.INTERNAL, details });
    expect(harness.faults).toEqual([new Error('key user=zoe broke')]);
    expect(harness.failures).toEqual(['fault']);
  });

  it('the server measures each call once, whatever its result', async () => {
    await harness.ask(OK_REQUEST);
    await expect(harness.ask({})).rejects.toThrow('domain');
    expect(harness.observed).toHaveLength(2);
    expect(harness.observed[0]).toEqual({ grpcMethod: 'ShouldRateLimit', seconds: expect.any(Number) as number });
  });
});

describe.each(TRANSPORTS)('drain (%s)', (transport) => {
  let harness: Harness;

  beforeEach(async () => {
    harness = await Harness.start(transport);
  });

  afterEach(() => harness.stop());

  it('a drain finishes calls in flight, rejects new ones, and turns health off', async () => {
    const decided = deferred();
    const arrived = deferred();
    harness.decide = async (request) => {
      arrived.resolve();
      await decided.promise;
      return allow(request);
    };
    const inFlight = harness.ask(OK_REQUEST);
    await arrived.promise;
    const drained = harness.server.drain({ timeoutMs: 10_000 });
    expect(harness.health.status).toBe('NOT_SERVING');
    await expect(harness.ask(OK_REQUEST)).rejects.toMatchObject({ code: status.UNAVAILABLE });
    decided.resolve();
    await expect(inFlight).resolves.toMatchObject({ overall_code: 1 });
    await drained;
  });

  it('a drain cuts off calls that do not finish in time', async () => {
    const arrived = deferred();
    harness.decide = () => {
      arrived.resolve();
      return new Promise(() => undefined);
    };
    const cut = expect(harness.ask(OK_REQUEST)).rejects.toHaveProperty('code');
    await arrived.promise;
    await harness.server.drain({ timeoutMs: 20 });
    await cut;
  });
});
