/** Opens the top keys: counts every decision, ends the periods, and publishes what this process counted. */

import type { Registry } from 'prom-client';
import { asError } from '../../../lib/errors';
import { monotonicNowMs } from '../../../lib/clock';
import { event } from '../../../server/observability/log/log-event';
import type { Logger } from '../../../server/observability/log/logger';
import { TopKeyMetric } from '../../../server/observability/metrics/top-key-metric';
import type { Settings } from '../../../configuration/settings/table/settings';
import type { Counted } from '../../../state/top/count-decision';
import { StoreError } from '../../../state/store/port/store-error';
import type { TopExchange } from '../../../state/top/exchange';
import { FleetTopKeys } from '../../../state/top/fleet-top-keys';
import { LocalTopKeys } from '../../../state/top/local-top-keys';
import type { TopKeys } from '../../../state/top/top-keys';
import { PERIOD_MS } from '../../../state/top/windows';

export interface OpenTopInput {
  readonly settings: Pick<Settings, 'topKeysCapacity' | 'metricTopKeys' | 'nearLimitRatio'>;
  readonly registry: Registry;
  /** Undefined: this process is alone. */
  readonly exchange: TopExchange | undefined;
  readonly log: Logger;
}

export interface OpenedTop {
  /** Counts a decision. */
  readonly record: (decided: Counted) => void;
  /** The top keys of all processes. */
  readonly keys: TopKeys;
  start(): void;
  stop(): void;
}

export function openTop({ settings, registry, exchange, log }: OpenTopInput): OpenedTop {
  const { topKeysCapacity: capacity, metricTopKeys: count, nearLimitRatio } = settings;
  const local = new LocalTopKeys({ capacity, nearLimitRatio, nowMs: monotonicNowMs });
  const fleet = exchange && new FleetTopKeys({ local, exchange, nowMs: monotonicNowMs });
  const metric = count === 0 ? undefined : new TopKeyMetric({ registry, keys: local, count });
  let timer: NodeJS.Timeout | undefined;
  let isFailureLogged = false;
  const endPeriod = async (): Promise<void> => {
    try {
      await local.endPeriod();
      await metric?.refresh();
      await fleet?.publish();
    } catch (error) {
      // While Redis is away the log says so already. Anything else would repeat every few seconds, so it is logged once.
      if (isFailureLogged || (error instanceof StoreError && error.reason !== 'script')) return;
      isFailureLogged = true;
      const { message } = asError(error);
      log.warn(event('top_keys_unpublished', { error: message }), `this process does not publish its top keys: ${message}`);
    }
  };
  return {
    record: local.record,
    keys: fleet ?? local,
    start: () => {
      timer = setInterval(() => void endPeriod(), PERIOD_MS).unref();
    },
    stop: () => {
      clearInterval(timer);
    },
  };
}
