/** Opens the division of limits among members: the demand is counted in the store of this process. */

import type { Registry } from 'prom-client';
import type { Settings } from '../../../configuration/settings/table/settings';
import { monotonicNowMs, monotonicNowUs } from '../../../lib/clock';
import { asError } from '../../../lib/errors';
import { event } from '../../../server/observability/log/log-event';
import type { Logger } from '../../../server/observability/log/logger';
import { ThrottledLog } from '../../../server/observability/log/throttled-log';
import { makeFairMetrics } from '../../../server/observability/metrics/metrics';
import type { DemandBoard } from '../../../state/fair/demand-board';
import { FairShares } from '../../../state/fair/fair-shares';
import { MemoryDemandBoard } from '../../../state/fair/memory-demand-board';
import { RedisDemandBoard } from '../../../state/fair/redis-demand-board';
import { StoreError } from '../../../state/store/port/store-error';
import type { RunScript } from '../../../state/store/redis/redis-store';

export interface OpenFairInput {
  readonly settings: Pick<Settings, 'cacheKeyPrefix'>;
  /** Undefined: the demand is counted in memory. */
  readonly run: RunScript | undefined;
  readonly registry: Registry;
  readonly log: Logger;
}

export interface OpenedFair {
  readonly shares: FairShares;
  readonly board: DemandBoard;
}

export function openFair({ settings, run, registry, log }: OpenFairInput): OpenedFair {
  const errors = new ThrottledLog<{ readonly error: string }>({
    write: (sentence, fields) => {
      log.warn(event('fair_failed', fields), sentence);
    },
    nowMs: monotonicNowMs,
  });
  const board = run === undefined ? new MemoryDemandBoard() : new RedisDemandBoard({ run, keyPrefix: settings.cacheKeyPrefix });
  const onError = (error: unknown): void => {
    // While Redis is away the log says so already.
    if (error instanceof StoreError && error.reason !== 'script') return;
    const { message } = asError(error);
    errors.log('fair', () => `limits with fair are not divided now: ${message}`, { error: message });
  };
  const shares = new FairShares({ board, clockUs: monotonicNowUs, onError });
  makeFairMetrics(registry, () => shares.dividedNow);
  return { shares, board };
}
