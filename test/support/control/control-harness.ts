/** Followers and writers of control data for tests: several instances on one store. */

import { ControlData } from '../../../src/state/control/control-data';
import { ControlFollower, type FollowerState } from '../../../src/state/control/control-follower';
import { CONTROL_KINDS, type ControlRecord, type StoredRecord } from '../../../src/state/control/control-record';
import { ControlService } from '../../../src/state/control/control-service';
import type { ControlStore } from '../../../src/state/control/control-store';
import { RedisControlStore } from '../../../src/state/control/redis/redis-control-store';
import { monotonicNowUs } from '../../../src/lib/clock';
import { RedisStore } from '../../../src/state/store/redis/redis-store';
import { storeOptions } from '../redis/redis-store';
import { hangLimitMs } from '../clock/hang-limit';

export interface Instance {
  readonly data: ControlData;
  readonly follower: ControlFollower;
  readonly service: ControlService;
  readonly store: ControlStore;
  readonly states: FollowerState[];
  readonly close: () => Promise<void>;
}

export function instanceOn(store: ControlStore, { nowUs = monotonicNowUs }: { readonly nowUs?: () => number } = {}): Instance {
  const data = new ControlData();
  const states: FollowerState[] = [];
  const follower = new ControlFollower({ store, data, nowUs, onState: (state) => states.push(state) });
  const service = new ControlService({ store, data, follower, nowMs: () => nowUs() / 1_000 });
  return {
    data,
    follower,
    service,
    store,
    states,
    close: async () => {
      await follower.close();
      await store.close();
    },
  };
}

/** An instance with its own connection to the Redis on this port. */
export async function instanceOnRedis(port: number): Promise<Instance> {
  const redis = new RedisStore({ ...storeOptions(port), silenceMs: 1_000 });
  await redis.connect({ waitMs: hangLimitMs(5_000) });
  const store = new RedisControlStore({
    run: (call, options) => redis.run(call, options),
    keyPrefix: '',
    onUnreadable: () => undefined,
  });
  const instance = instanceOn(store);
  return {
    ...instance,
    close: async () => {
      await instance.follower.close();
      await redis.close();
    },
  };
}

/** Every record of a replica, in one order. */
export function recordsOf({ data }: Pick<Instance, 'data'>): StoredRecord[] {
  const found = [...data.recordsInSteps()].flatMap((known) =>
    known === undefined ? [] : [{ record: known.record, version: known.version }],
  );
  return sorted(found);
}

/** Every record of a store as a replica has it, in the same order. */
export async function recordsIn(store: ControlStore): Promise<StoredRecord[]> {
  const found: StoredRecord[] = [];
  for (const kind of CONTROL_KINDS) {
    let cursor: string | undefined;
    do {
      const page = await store.scan({ kind, limit: 100, ...(cursor !== undefined && { cursor }) });
      found.push(...page.records.map(({ record, version }) => ({ record: asFollowed(record), version })));
      cursor = page.next;
    } while (cursor !== undefined);
  }
  // A scan may name a record twice.
  return sorted([...new Map(found.map((stored) => [JSON.stringify(stored.record), stored])).values()]);
}

function sorted(records: readonly StoredRecord[]): StoredRecord[] {
  return records.toSorted((one, other) => (JSON.stringify(one.record) < JSON.stringify(other.record) ? -1 : 1));
}

/** A replica knows the plan, the parent, the end and the creation of a tenant; these tests write no reason and no author. */
function asFollowed(record: ControlRecord): ControlRecord {
  if (record.kind !== 'tenant') return record;
  const { kind, domain, tenant, plan, parent, untilMs, createdAtMs } = record;
  const place = { ...(plan !== undefined && { plan }), ...(parent !== undefined && { parent }) };
  return { kind, domain, tenant, ...place, ...(untilMs !== undefined && { untilMs }), ...(createdAtMs !== undefined && { createdAtMs }) };
}

export const NOTE = { author: 'ann', action: 'put' } as const;

export function blockOf(id: string): ControlRecord {
  return { kind: 'block', domain: 'd', id, entries: [{ key: 'ip', value: id }] };
}
