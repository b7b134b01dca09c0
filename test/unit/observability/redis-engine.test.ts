/** The engines of Redis servers have one series each while a server shows them, and each note is logged once for an address. */

import { Gauge, Registry } from 'prom-client';
import { RedisEngine } from '../../../src/server/observability/redis-engine';
import { measureWrite, UNKNOWN_ENGINE, type Engine } from '../../../src/state/store/redis/engine-probe';

const OLD: Engine = { name: 'redis', version: '7.0.15', separatesSlots: false };
const NEW: Engine = { name: 'valkey', version: '9.1.2', separatesSlots: true };

function open() {
  const registry = new Registry();
  const redisEngine = new Gauge({ name: 'engines', help: 'h', labelNames: ['store', 'engine', 'version'], registers: [registry] });
  const lines: string[] = [];
  const log = { warn: (_fields: unknown, sentence: string) => lines.push(sentence) } as never;
  const engines = new RedisEngine({ log, metrics: { redisEngine }, store: 'redis', timeoutMs: 5 });
  const series = async () => (await redisEngine.get()).values.map(({ labels }) => `${labels.engine} ${labels.version}`).sort();
  return { engines, lines, series };
}

test('a series ends with the last server that shows its version', async () => {
  const { engines, series } = open();
  const [one, other] = [engines.watch(), engines.watch()];
  one.onConnected('a', OLD);
  other.onConnected('b', OLD);
  one.onConnected('a', NEW);
  expect(await series()).toEqual(['redis 7.0.15', 'valkey 9.1.2']);
  expect(engines.facts).toEqual([
    { store: 'redis', engine: 'redis', version: '7.0.15' },
    { store: 'redis', engine: 'valkey', version: '9.1.2' },
  ]);
  other.onConnected('b', NEW);
  expect(await series()).toEqual(['valkey 9.1.2']);
  // A server that claims another version at each connect has one series.
  for (let i = 0; i < 100; i += 1) other.onConnected('b', { ...UNKNOWN_ENGINE, version: String(i) });
  expect(await series()).toEqual(['unknown 99', 'valkey 9.1.2']);
  one.forget();
  other.forget();
  other.forget();
  expect(await series()).toEqual([]);
  // The nodes of a cluster can show more versions than a process reports.
  for (let i = 0; i < 20; i += 1) engines.watch().onConnected(String(i), { ...NEW, version: String(i) });
  expect(engines.facts).toHaveLength(8);
});

test('each note is logged once for an address, and the time of a write is asked for once', () => {
  const { engines, lines } = open();
  const server = engines.watch();
  expect(server.onConnected('a', NEW)).toBe(true);
  server.onWrite('a', NEW, 4.2);
  expect(server.onConnected('a', NEW)).toBe(false);
  expect(lines.map((line) => line.slice(0, 45))).toEqual([
    'Redis at a (valkey 9.1.2) refuses scripts wit',
    'Redis at a (valkey 9.1.2) needs 4.2 ms for a ',
  ]);
  expect(lines[1]).toContain('REDIS_OP_TIMEOUT=21ms');
  // Another primary is another server.
  expect(server.onConnected('b', NEW)).toBe(true);
  server.onWrite('b', NEW, 0.9);
  expect(lines).toHaveLength(3);
});

/** Measures an engine whose answers to PING and to writes take these times. */
function measured(input: { readonly pingsMs: readonly number[]; readonly writesMs: readonly number[] }): Promise<number> {
  let nowMs = 1_000;
  const answers = (timesMs: readonly number[]) => {
    const left = [...timesMs];
    return () => Promise.resolve((nowMs += left.shift()!));
  };
  return measureWrite({ ping: answers(input.pingsMs), write: answers(input.writesMs), nowMs: () => nowMs });
}

test.each([
  ['every round is quiet', [1, 1, 1], [5, 5, 5], 4],
  ['the first round is busy', [90, 1, 1], [80, 5, 5], 4],
  ['a quiet PING and a quiet write are of different rounds', [90, 1, 70], [80, 60, 5], 4],
  ['a write takes no longer than an answer', [3, 2, 4], [3, 2, 4], 0],
  ['a write seems faster than an answer', [8, 9, 7], [3, 2, 4], 0],
])(
  'the time of a write is that of the quietest rounds; %s: PING of %j ms and writes of %j ms make %i ms',
  async (_what, pingsMs, writesMs, expectedMs) => {
    expect(await measured({ pingsMs, writesMs })).toBe(expectedMs);
  },
);
