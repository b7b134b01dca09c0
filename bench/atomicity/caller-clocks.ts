/** A token bucket on its callers' own clocks, which disagree, to be held against one on Redis's. */

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { monotonicNowUs } from '../../src/lib/clock';
import type { TestClient } from '../../test/support/redis/redis-store';
import type { Answer, Ask } from './callers';
import { closeAll, openClient } from '../support/redis-client';
import { BURST, PER_SECOND } from './over-grant';

const SKEWS_MS = [100, 1_000] as const;

/** What the script does when a caller's time lies before the time stored; `caller-clock.lua` explains each. */
const GUARDS = ['nothing', 'elapsed', 'latest'] as const;

export type Guard = (typeof GUARDS)[number];

export interface ClockVariant {
  readonly clock: { readonly of: 'redis' } | { readonly of: 'caller'; readonly skewMs: number; readonly guard: Guard };
  readonly take: (ask: Ask) => Promise<Answer>;
}

export interface ClockVariants {
  readonly variants: readonly ClockVariant[];
  readonly close: () => Promise<void>;
}

/**
 * Two instances, each with a connection of its own. Callers take turns; those of
 * even number have the clock that is behind: caller 0 asks first, and a bucket begun in the past is the worse case.
 */
export async function openClockVariants(port: number): Promise<ClockVariants> {
  const text = readFileSync(path.join(__dirname, 'caller-clock.lua'), 'utf8');
  const sha = createHash('sha1').update(text).digest('hex');
  const instances = [await openClient(port), await openClient(port)] as const;
  await instances[0].sendCommand(['SCRIPT', 'LOAD', text]);

  const clocks: readonly ClockVariant['clock'][] = [
    { of: 'redis' },
    ...SKEWS_MS.flatMap((skewMs) => GUARDS.map((guard) => ({ of: 'caller', skewMs, guard }) as const)),
  ];
  return {
    variants: clocks.map((clock) => ({ clock, take: takeBy({ clock, sha, instances }) })),
    close: () => closeAll(instances),
  };
}

interface TakeByInput {
  readonly clock: ClockVariant['clock'];
  readonly sha: string;
  readonly instances: readonly [behind: TestClient, ahead: TestClient];
}

function takeBy({ clock, sha, instances: [behind, ahead] }: TakeByInput): ClockVariant['take'] {
  return async ({ caller, bucketKey }) => {
    const isBehind = caller % 2 === 0;
    const now = clock.of === 'redis' ? 'redis' : String(monotonicNowUs() - (isBehind ? clock.skewMs * 1000 : 0));
    const guard = clock.of === 'redis' ? 'nothing' : clock.guard;
    const args = [sha, '1', bucketKey, String(BURST), String(PER_SECOND), now, guard];
    const reply = await (isBehind ? behind : ahead).sendCommand<number>(['EVALSHA', ...args]);
    return reply === 1 ? 'allowed' : 'denied';
  };
}
