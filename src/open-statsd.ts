/** Wires what tells a statsd server: names, tags, connection, and what is said when it takes nothing. */

import { Counter, type Registry } from 'prom-client';
import { monotonicNowMs } from './clock';
import type { Settings } from './config/settings';
import { SettingsError } from './config/settings-error';
import type { StatsdChoice } from './config/statsd-choice';
import type { Logger } from './observability/logger';
import { REPORT_METRICS } from './observability/metrics';
import { MogrifierError, Mogrifiers, type Mogrified } from './observability/mogrifier';
import type { MetricReading } from './observability/reading';
import { Seldom } from './observability/seldom';
import { openStatsd as connectStatsd } from './observability/statsd-connection';
import { StatsdReporter } from './observability/statsd-reporter';

export interface OpenStatsdOptions {
  readonly statsd: StatsdChoice;
  readonly settings: Pick<Settings, 'statsFlushIntervalMs' | 'extraTags'>;
  readonly registry: Registry;
  readonly read: () => Promise<readonly MetricReading[]>;
  readonly log: Logger;
}

/** @throws SettingsError for a bad mogrifier */
export function openStatsd({ statsd, settings, registry, read, log }: OpenStatsdOptions): StatsdReporter {
  const { name, labels, help } = REPORT_METRICS.flushes;
  const flushes = new Counter({ name, help, labelNames: labels, registers: [registry] });
  const where = `${statsd.host}:${statsd.port} (${statsd.protocol})`;
  const problems = new Seldom({
    say: (sentence) => {
      log.warn(sentence);
    },
    nowMs: monotonicNowMs,
  });
  log.info(`metrics are told to ${statsd.knowsTags ? 'dogstatsd' : 'statsd'} at ${where} every ${settings.statsFlushIntervalMs / 1000} s`);
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

/** As the reference tells a server that knows no tags, in the order of their names. */
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
