/** Clients with grpc-go and grpcio end every mix of concurrent calls with the expected status. */

import { Harness, allow, TRANSPORTS } from '../support/servers/transport-harness';
import { FOREIGN_CLIENTS, KINDS, LARGE_DESCRIPTORS, LARGE_VALUE_BYTES, runForeignClient, SLOW_DOMAIN } from './foreign-client';

/** How often each worker makes each kind of call. */
const ROUNDS = 6;
const CHANNELS = 3;
const WORKERS = 14;

/** Longer than the deadline of a slow call, and than its client takes to give it up on a busy machine. */
const SLOW_MS = 10_000;

describe.each(TRANSPORTS.flatMap((transport) => FOREIGN_CLIENTS.map((client) => [client, transport] as const)))(
  '%s (%s)',
  (client, transport) => {
    let harness: Harness;

    beforeAll(async () => {
      harness = await Harness.start(transport);
      harness.decide = (request) => {
        if (request.domain !== SLOW_DOMAIN) return Promise.resolve(allow(request));
        return new Promise((resolve) => {
          setTimeout(() => {
            resolve(allow(request));
          }, SLOW_MS).unref();
        });
      };
    });

    afterAll(async () => {
      await harness.stop();
      expect(harness.faults).toEqual([]);
    });

    test('every call ends with the expected status, with all kinds of calls at once on each connection', async () => {
      const outcomes = await runForeignClient(client, {
        port: harness.port,
        channels: CHANNELS,
        workers: WORKERS,
        calls: ROUNDS * KINDS.length,
      });
      const perKind = CHANNELS * WORKERS * ROUNDS;
      const expected = Object.fromEntries(
        [...new Set(KINDS)].map((kind) => [kind, { right: perKind * KINDS.filter((one) => one === kind).length, wrong: [] }]),
      );
      expect(outcomes).toEqual(expected);
      // And each decision was asked for once, with the message that was sent.
      const decided = harness.requests.filter(({ domain }) => domain === 'edge');
      expect(decided.filter(({ descriptors }) => descriptors.length === 1)).toHaveLength(expected.decide!.right);
      const large = decided.filter(({ descriptors }) => descriptors.length === LARGE_DESCRIPTORS);
      expect(large).toHaveLength(expected.large!.right);
      expect(large.every(({ descriptors }) => descriptors.every(({ entries }) => entries[0]?.value.length === LARGE_VALUE_BYTES))).toBe(
        true,
      );
    }, 150_000);
  },
);
