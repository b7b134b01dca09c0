/** Opens the rollouts of one process: they count in its store, and their guards take them back by control data. */

import type { Registry } from 'prom-client';
import { monotonicNowMs, monotonicNowUs } from '../../../lib/clock';
import { asError } from '../../../lib/errors';
import { percentText, spanText } from '../../../lib/value-texts';
import { event } from '../../../server/observability/log/log-event';
import type { Logger } from '../../../server/observability/log/logger';
import { ThrottledLog } from '../../../server/observability/log/throttled-log';
import { makeRolloutMetrics } from '../../../server/observability/metrics/metrics';
import type { Settings } from '../../../configuration/settings/table/settings';
import { MemoryRolloutCounter } from '../../../state/rollout/memory-rollout-counter';
import { RedisRolloutCounter } from '../../../state/rollout/redis-rollout-counter';
import type { RolloutCounter } from '../../../state/rollout/rollout-counter';
import { RolloutWatch, type Breach } from '../../../state/rollout/rollout-watch';
import { GUARD_AUTHOR, stoppedBy } from '../../../state/rollout/stopped-rollout';
import { StoreError } from '../../../state/store/port/store-error';
import type { RunScript } from '../../../state/store/redis/redis-store';
import type { OpenedControl } from './open-control';

export interface OpenRolloutsInput {
  readonly settings: Pick<Settings, 'cacheKeyPrefix'>;
  /** Undefined: hits are counted in memory. */
  readonly run: RunScript | undefined;
  readonly control: Pick<OpenedControl, 'data' | 'service'>;
  readonly registry: Registry;
  readonly log: Logger;
}

export interface OpenedRollouts {
  readonly watch: RolloutWatch;
  readonly counter: RolloutCounter;
}

export function openRollouts({ settings, run, control, registry, log }: OpenRolloutsInput): OpenedRollouts {
  const { guardStops } = makeRolloutMetrics(registry);
  const errors = new ThrottledLog<{ readonly error: string }>({
    write: (sentence, fields) => {
      log.warn(event('rollout_failed', fields), sentence);
    },
    nowMs: monotonicNowMs,
  });
  const counter =
    run === undefined ? new MemoryRolloutCounter(monotonicNowUs) : new RedisRolloutCounter({ run, keyPrefix: settings.cacheKeyPrefix });
  const stop = async (breach: Breach): Promise<void> => {
    const reason = reasonOf(breach);
    const change = stoppedBy(breach, control.data, reason);
    if (change === undefined) return;
    const outcome = await control.service.write({ changes: [change], audit: { author: GUARD_AUTHOR, action: 'stop', reason } });
    // Another process was first, or an operator has changed the rollout.
    if (outcome.kind === 'conflict') return;
    if (outcome.kind !== 'written')
      throw new Error(outcome.kind === 'full' ? `there are ${outcome.max} rollouts; delete some` : outcome.kind);
    guardStops.inc();
    const { domain, rule } = breach;
    log.error(
      event('rollout_stopped', { domain, rule, reason }),
      `the rollout of ${rule} in the domain ${domain} was taken back: ${reason}`,
    );
  };
  const onError = (error: unknown): void => {
    // While Redis is away the log says so already.
    if (error instanceof StoreError && error.reason !== 'script') return;
    const { message } = asError(error);
    errors.log('rollout', () => `rollouts cannot be counted or taken back: ${message}`, { error: message });
  };
  return { watch: new RolloutWatch({ counter, stop, onError }), counter };
}

function reasonOf({ measured: { hits, over }, stopIf: { deniedAbove, forS } }: Breach): string {
  const share = ((100 * over) / hits).toFixed(2);
  return `${share}% of ${hits} hits denied within ${spanText(forS)}, above ${percentText(deniedAbove)}`;
}
