/** The records of the benchmark of control data, and the Redis that keeps them. */

import type { ControlRecord } from '../../src/state/control/control-record';
import { CHANGES_MAX, type ControlStore } from '../../src/state/control/control-store';

export interface Size {
  readonly tenants: number;
  readonly overrides: number;
  /** Writes whose effect is awaited. */
  readonly changes: number;
}

export const FULL: Size = { tenants: 1_000_000, overrides: 100_000, changes: 100 };
export const SHORT: Size = { tenants: 100_000, overrides: 10_000, changes: 50 };

export const NOTE = { author: 'bench', action: 'put' };

/** Writes in flight while the Redis is filled. */
const FILLERS = 16;

/** The writes of a burst of changes. */
const BURST_WRITES = 400;
export const BURST_CHANGES = BURST_WRITES * CHANGES_MAX;

/** As the service writes them: with their author and time. */
const WRITTEN = { author: 'sales', createdAtMs: 1.7e12 };

/** Tenants, then overrides of one merchant's limit at one endpoint. */
export function recordAt(i: number, { tenants }: Size): ControlRecord {
  if (i < tenants)
    return { kind: 'tenant', domain: 'd', tenant: `merchant_${i}`, plan: ['free', 'gold', 'enterprise'][i % 3]!, ...WRITTEN };
  const entries = [
    { key: 'endpoint', value: `/v1/${(i - tenants) % 7}` },
    { key: 'merchant', value: `merchant_${i - tenants}` },
  ];
  const limit = { requestsPerUnit: 300 + (i % 100), unit: 'minute' as const };
  return { kind: 'override', domain: 'd', id: `contract-${i}`, entries, limit, reason: 'contract', ...WRITTEN };
}

export function blockAt(i: number): ControlRecord {
  return { kind: 'block', domain: 'd', id: `block-${i}`, entries: [{ key: 'ip', value: `ip_${i}` }], ...WRITTEN };
}

export async function fill(store: ControlStore, size: Size): Promise<void> {
  const all = size.tenants + size.overrides;
  let next = 0;
  const fillSome = async (): Promise<void> => {
    while (next < all) {
      const from = next;
      next += CHANGES_MAX;
      const changes = Array.from({ length: Math.min(CHANGES_MAX, all - from) }, (_, i) => ({ put: recordAt(from + i, size) }));
      const outcome = await store.write({ changes, audit: NOTE });
      if (outcome.kind !== 'written') throw new Error(outcome.kind);
    }
  };
  await Promise.all(Array.from({ length: FILLERS }, fillSome));
}

/** Changes plans, many at once. */
export async function burst(store: ControlStore, size: Size): Promise<void> {
  for (let i = 0; i < BURST_WRITES; i += 1) {
    const changes = Array.from({ length: CHANGES_MAX }, (_, at) => ({
      put: { ...recordAt((i * CHANGES_MAX + at) % size.tenants, size), plan: `burst-${i % 2}` } as ControlRecord,
    }));
    await store.write({ changes, audit: NOTE });
  }
}
