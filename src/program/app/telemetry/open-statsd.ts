/** Wires the statsd reporter: names, tags, connection, and the log of failures. */

import { Counter, type Registry } from 'prom-client';
import { monotonicNowMs } from '../../../lib/clock';
import type { Settings } from '../../../configuration/settings/table/settings';
import { SettingsError } from '../../../configuration/settings/table/settings-error';
import type { StatsdChoice } from '../../../configuration/settings/statsd-choice';
import { event } from '../../../server/observability/log/log-event';
import type { Logger } from '../../../server/observability/log/logger';
import { REPORT_METRICS } from '../../../server/observability/metrics/metrics';
import { MogrifierError, Mogrifiers, type Mogrified } from '../../../server/observability/statsd/mogrifier';
import type { MetricReading } from '../../../server/observability/metrics/metrics-snapshot';
import { ThrottledLog } from '../../../server/observability/log/throttled-log';
import { openStatsd as connectStatsd } from '../../../server/observability/statsd/statsd-connection';
import { StatsdReporter } from '../../../server/observability/statsd/statsd-reporter';

export interface OpenStatsdOptions {
  readonly statsd: StatsdChoice;
  readonly settings: Pick<Settings, 'statsFlushIntervalMs' | 'extraTags'>;
  readonly registry: Registry;
  readonly read: () => Promise<readonly MetricReading[]>;
  readonly log: Logger;
}

/** @throws SettingsError for an invalid mogrifier */
export function openStatsd({ statsd, settings, registry, read, log }: OpenStatsdOptions): StatsdReporter {
  const { name, labels, help } = REPORT_METRICS.flushes;
  const flushes = new Counter({ name, help, labelNames: labels, registers: [registry] });
  const where = `${statsd.host}:${statsd.port} (${statsd.protocol})`;
  const problems = new ThrottledLog({
    write: (sentence) => {
      log.warn(event('statsd_failed', { address: where }), sentence);
    },
    nowMs: monotonicNowMs,
  });
  log.info(
    event('statsd_started', { address: where, intervalMs: settings.statsFlushIntervalMs }),
    `reporting metrics to ${statsd.knowsTags ? 'dogstatsd' : 'statsd'} at ${where} every ${settings.statsFlushIntervalMs / 1000} s`,
  );
  return new StatsdReporter({
    intervalMs: settings.statsFlushIntervalMs,
    read,
    open: () => connectStatsd(statsd),
    keepsConnection: statsd.protocol === 'tcp',
    name: statsd.knowsTags ? withTags(statsd, settings.extraTags) : withEnding(settings.extraTags),
    onFlush: (result) => {
      flushes.inc({ result });
    },
    problems,
    where,
  });
}

/** Appends tags to the name, sorted, as envoyproxy/ratelimit does for servers without tags. */
function withEnding(tags: ReadonlyMap<string, string> = new Map()): (name: string) => Mogrified {
  const pairs = [...tags].sort(([a], [b]) => (a < b ? -1 : 1));
  const ending = pairs.map(([key, value]) => `.__${inName(key)}=${inName(value)}`).join('');
  return (name) => ({ name: `${name}${ending}`, tags: [] });
}

function inName(text: string): string {
  return text.replace(/[^!-~]|[.:|=]/g, '_');
}

function withTags({ mogrifiers: specs }: StatsdChoice, tags: ReadonlyMap<string, string> = new Map()): (name: string) => Mogrified {
  const mogrifiers = compile(specs);
  const extra = Array.from(tags, ([key, value]) => `${key}:${value}`);
  return (given) => {
    const { name, tags: own } = mogrifiers.of(given);
    return { name, tags: [...extra, ...own] };
  };
}

function compile(specs: StatsdChoice['mogrifiers']): Mogrifiers {
  try {
    return new Mogrifiers(specs);
  } catch (error) {
    if (error instanceof MogrifierError) throw new SettingsError([{ name: error.variable, message: error.problem }]);
    throw error;
  }
}
