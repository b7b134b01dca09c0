/** Opens the control data of one process: their store, the replica that decisions read, and what health, log and metrics report of them. */

import type { Registry } from 'prom-client';
import { monotonicNowMs, monotonicNowUs } from '../../../lib/clock';
import type { Settings } from '../../../configuration/settings/table/settings';
import { ControlData } from '../../../state/control/control-data';
import { ControlFollower, type FollowerState } from '../../../state/control/control-follower';
import { ControlService } from '../../../state/control/control-service';
import type { ControlStore, LoggedChange } from '../../../state/control/control-store';
import { openControlFile } from '../../../state/control/file/control-file';
import { LocalControlStore } from '../../../state/control/local-control-store';
import type { OnUnreadable } from '../../../state/control/redis/control-wire';
import { RedisControlStore, type RedisControlStoreOptions } from '../../../state/control/redis/redis-control-store';
import type { SelectedRecord } from '../../../domain/rule/control-view';
import type { Health } from '../../../server/observability/health';
import { event } from '../../../server/observability/log/log-event';
import type { Logger } from '../../../server/observability/log/logger';
import { THROTTLE_MS } from '../../../server/observability/log/throttled-log';
import { makeControlMetrics } from '../../../server/observability/metrics/metrics';
import { US_PER_MS } from '../../../lib/time-units';

const STALE = 'control: stale';
const LOST = 'control: lost by redis';
const UNREADABLE = 'control: unreadable records';

/** How long the start waits for the control data: a million tenants take some seconds. Without Redis it goes on without them. */
const FIRST_READ_MS = 30_000;

/** Minimum interval between log lines about unreadable records, and between those about refused writes, in milliseconds. */
const LOG_INTERVAL_MS = 60_000;

export interface OpenControlInput {
  readonly settings: Settings;
  /** Runs a script in Redis; absent: hits are counted in memory, and control data kept in a file or in memory. */
  readonly run: RedisControlStoreOptions['run'] | undefined;
  /** A store in another thread; absent: this process opens its own. */
  readonly store?: ControlStore;
  /** Called with each change of a record. */
  readonly onChange?: ((change: LoggedChange) => void) | undefined;
  readonly health: Health;
  readonly registry: Registry;
  readonly log: Logger;
}

export interface OpenedControl {
  readonly data: ControlData;
  readonly store: ControlStore;
  readonly service: ControlService;
  readonly follower: ControlFollower;
  /** Counts a descriptor that a record decided. */
  readonly onDecided: (kind: SelectedRecord['kind']) => void;
  close(): Promise<void>;
}

export async function openControl(input: OpenControlInput): Promise<OpenedControl> {
  const { settings, run, store: given, onChange, health, registry, log } = input;
  const data = new ControlData();
  // A write into the store of this process is in force here when it is acknowledged.
  const onWritten = (): void => void follower.catchUp();
  const store = given ?? (await openStore({ settings, run, log, onWritten }));
  const follower: ControlFollower = new ControlFollower({
    store,
    data,
    nowUs: monotonicNowUs,
    onState: reportTo({ health, log }),
    onChange,
  });
  const decisions = makeControlMetrics(registry, {
    get version() {
      return follower.version;
    },
    get lagSeconds() {
      return follower.lagSeconds;
    },
    get lost() {
      return follower.state.lost;
    },
    get missing() {
      return follower.state.missing;
    },
    get unreadable() {
      return follower.state.unreadable;
    },
    get counts() {
      return data.counts;
    },
  });
  await follower.start({ waitMs: FIRST_READ_MS });
  return {
    data,
    store,
    follower,
    service: new ControlService({ store, data, follower, nowMs: () => Math.floor(monotonicNowUs() / US_PER_MS) }),
    onDecided: (kind) => {
      decisions.inc({ kind });
    },
    close: async () => {
      await follower.close();
      await store.close();
    },
  };
}

interface OpenStoreInput extends Pick<OpenControlInput, 'settings' | 'run' | 'log'> {
  /** Called after each write into a store of this process. */
  readonly onWritten: () => void;
}

async function openStore({ settings, run, log, onWritten }: OpenStoreInput): Promise<ControlStore> {
  const { controlFile, cacheKeyPrefix: keyPrefix } = settings;
  if (run !== undefined) {
    if (controlFile !== undefined) {
      log.warn(
        event('setting_warning'),
        'CONTROL_FILE has no effect with Redis, which keeps the control data; unset it, and set CONTROL_DATA=true',
      );
    }
    return new RedisControlStore({ run, keyPrefix, onUnreadable: logUnreadable(log) });
  }
  if (controlFile === undefined) {
    log.warn(event('control_memory'), 'control data are kept in memory and are lost when Weir ends; set CONTROL_FILE to keep them');
    return new LocalControlStore({ nowUs: monotonicNowUs, onWritten });
  }
  return openControlFile({
    path: controlFile,
    nowUs: monotonicNowUs,
    onWritten,
    onRefused: onceAMinute(({ message }) => {
      log.error(event('control_refused', { error: message }), message);
    }),
    onTorn: (bytes) => {
      log.warn(
        event('control_torn', { bytes }),
        `the last line of CONTROL_FILE ${controlFile} was incomplete (${bytes} bytes) and was dropped; its write was not acknowledged`,
      );
    },
  });
}

function logUnreadable(log: Logger): OnUnreadable {
  return onceAMinute(({ kind, key, problem }) => {
    const record = key === undefined ? `a ${kind} whose key is invalid, too` : `the ${kind} "${key.name}" of the domain "${key.domain}"`;
    log.warn(
      event('control_unreadable', { record, error: problem }),
      `${record} cannot be read and has no effect: ${problem}; write it again, or delete it`,
    );
  });
}

/** A line that repeats itself is logged once in a while. */
function onceAMinute<T>(write: (error: T) => void): (error: T) => void {
  let loggedMs = -Infinity;
  return (error) => {
    if (monotonicNowMs() - loggedMs < LOG_INTERVAL_MS) return;
    loggedMs = monotonicNowMs();
    write(error);
  };
}

/** Reports each change of the state once. While Redis comes and goes, it logs that control data are stale at most once a minute. */
function reportTo({ health, log }: Pick<OpenControlInput, 'health' | 'log'>): (state: FollowerState) => void {
  let before: FollowerState['state'] | undefined;
  let staleMs = -Infinity;
  let isStaleLogged = true;
  return ({ state, lost, missing, unreadable, error = 'no answer' }) => {
    health.show(STALE, { isDegraded: state === 'behind' || state === 'starting' });
    health.show(LOST, { isDegraded: lost > 0 || missing > 0 });
    health.show(UNREADABLE, { isDegraded: unreadable > 0 });
    if (state === before) return;
    if (state === 'behind' || state === 'starting') {
      isStaleLogged = monotonicNowMs() - staleMs >= THROTTLE_MS;
      if (isStaleLogged) staleMs = monotonicNowMs();
      if (isStaleLogged) log.warn(event('control_stale', { error }), `no control data from Redis (${error}): what is known stays in force`);
    } else if (state === 'lost') {
      isStaleLogged = true;
      log.error(
        event('control_lost', { records: lost, missing }),
        `Redis lost control data: this instance keeps ${lost} records in force, and Redis lacks ${missing} of its own: restore or discard them`,
      );
    } else if (before !== undefined && isStaleLogged) {
      log.info(event('control_synced'), 'control data are up to date again');
    }
    before = state;
  };
}
