/** Clients that wait as `Retry-After` says send fewer requests in vain than clients that back off, and are as fast. */

import { decided } from '../support/decisions/outcomes';
import { groupOf, take } from '../support/decisions/groups';
import { figure } from '../support/docs/figure';
import { randomFrom, seededInFull, type Random } from '../support/random/random';
import { retryAfterMs, retryAfterS } from '../../src/domain/respond/decided/wait';
import { MemoryStore } from '../../src/state/store/memory/memory-store';

const US_PER_MS = 1_000;

/** Ten a second with a burst of ten: the requests of each client take nine seconds at least. */
const REQUESTS = 100;
const CLIENTS = 100;
const SHORTEST_MS = 9_000;

/** As SDKs do by default: doubled from 100 ms up to 10 s, and any time up to that. */
const BACKOFF_MS = 100;
const BACKOFF_MS_MAX = 10_000;

/** For how long to wait after a denial, in milliseconds. */
type Wait = (denied: { readonly retryAfterUs: number; readonly failures: number; readonly random: Random }) => number;

const WAITS: Readonly<Record<string, Wait>> = {
  'Retry-After': ({ retryAfterUs }) => retryAfterS(retryAfterUs) * 1_000,
  'Retry-After-Ms': ({ retryAfterUs }) => retryAfterMs(retryAfterUs),
  backoff: ({ failures, random }) => random(Math.min(BACKOFF_MS_MAX, BACKOFF_MS * 2 ** failures) + 1),
};

/** A client with a limit of its own sends its requests one after the other; how many were in vain, and when it is done. */
async function send(wait: Wait, random: Random) {
  let nowMs = 0;
  const store = new MemoryStore({ nowUs: () => nowMs * US_PER_MS, bucketsMax: 10 });
  let inVain = 0;
  for (let sent = 0; sent < REQUESTS; sent += 1) {
    for (let failures = 0; ; failures += 1) {
      const { verdicts, isOver } = await ask(store);
      if (!isOver) break;
      inVain += 1;
      nowMs += wait({ retryAfterUs: Math.max(...verdicts.map(({ retryAfterUs }) => retryAfterUs)), failures, random });
    }
  }
  return { inVain, doneMs: nowMs };
}

async function ask(store: MemoryStore) {
  const [outcome] = await store.take([groupOf([take('client')])]);
  const { verdicts } = decided(outcome);
  return { verdicts, isOver: verdicts.some(({ fits }) => !fits) };
}

test('waiting as Retry-After says sends a small part of the requests in vain that backing off sends, and is as fast', async () => {
  const random = randomFrom(seededInFull(1));
  const results = new Map<string, { readonly inVain: number; readonly doneMs: number }>();
  for (const [name, wait] of Object.entries(WAITS)) {
    const clients = await Promise.all(Array.from({ length: CLIENTS }, () => send(wait, random)));
    const mean = (of: (client: (typeof clients)[number]) => number) => clients.reduce((sum, client) => sum + of(client), 0) / CLIENTS;
    results.set(name, { inVain: mean(({ inVain }) => inVain), doneMs: mean(({ doneMs }) => doneMs) });
    expect(Math.min(...clients.map(({ doneMs }) => doneMs))).toBeGreaterThanOrEqual(SHORTEST_MS);
  }
  const of = (name: string) => results.get(name)!;
  figure(
    [...results]
      .map(([name, { inVain, doneMs }]) => `${name}: ${inVain.toFixed(1)} in vain, done after ${(doneMs / 1_000).toFixed(1)} s`)
      .join('; '),
  );
  // After whole seconds ten requests pass at once; after the exact wait one does, and each is denied once.
  expect(of('Retry-After').inVain).toBe(9);
  expect(of('Retry-After-Ms').inVain).toBe(90);
  expect(of('backoff').inVain).toBeGreaterThan(of('Retry-After-Ms').inVain);
  expect(of('Retry-After').doneMs).toBe(SHORTEST_MS);
  expect(of('Retry-After-Ms').doneMs).toBeLessThanOrEqual(SHORTEST_MS + REQUESTS);
});
