/** The composition root of a limiter in the process: the parts of the service that decide, without its ports. */

import { Registry } from 'prom-client';
import { makeMemoryStore } from '../../app/context/memory-store';
import { openRecord, openRuleMetrics } from '../../app/deciding/open-record';
import { asksForControl } from '../../../configuration/settings/asked-parts';
import { chooseAdditions } from '../../../configuration/settings/choose-additions';
import { openStore } from '../../app/deciding/open-store';
import { openControl } from '../../app/deciding/open-control';
import { openPenalties } from '../../app/deciding/open-penalties';
import { VERSION } from '../../app/context/version';
import { logLoad } from '../../cli/log-load';
import type { CompileOptions } from '../../../configuration/compile/compile';
import { monotonicNowMs, monotonicNowUs } from '../../../lib/clock';
import { Health } from '../../../server/observability/health';
import { FaultLog } from '../../../server/observability/log/fault-log';
import { createLogger, type Logger } from '../../../server/observability/log/logger';
import { makeMetrics } from '../../../server/observability/metrics/metrics';
import { readMetrics } from '../../../server/observability/metrics/metrics-snapshot';
import { PrometheusText } from '../../../server/observability/metrics/prometheus-text';
import { additionsFor } from '../../../domain/respond/response-additions';
import type { ControlView } from '../../../domain/rule/control-view';
import { makeShouldRateLimit, type Decide } from '../../../should-rate-limit';
import { makeCompileSet } from '../../../configuration/source/compile-set';
import { chooseDefaultAlgorithm, chooseDefaultOverdraft } from '../../../configuration/source/files/config-place';
import { RulesInForce } from '../../../configuration/source/rules-in-force';
import type { LimiterChoices } from './limiter-settings';
import { openRules } from './open-rules';
import { withRedisPackage } from './with-redis-package';

export interface Engine {
  readonly decide: Decide;
  readonly rules: RulesInForce;
  /** The options that the rules were compiled with. */
  readonly compile: Omit<CompileOptions, 'files' | 'generation'>;
  /** Undefined: control data are off. */
  readonly control: ControlView | undefined;
  readonly faults: FaultLog;
  metrics(): Promise<string>;
  close(): Promise<void>;
}

/** Rejects with ConfigError if the rules are invalid. `nowUs`: the clock of decisions. */
export async function openEngine(choices: LimiterChoices, nowUs = monotonicNowUs): Promise<Engine> {
  const { settings, storeChoice } = choices;
  const log = createLogger({ level: settings.logLevel, format: settings.logFormat, ...(choices.log && { destination: choices.log }) });
  const compile = compileOptions(choices);
  const rules = new RulesInForce({ compile: makeCompileSet(compile) });
  const source = openRules(choices, { rules, log });
  await source.load();
  if (rules.error !== undefined) throw rules.error;
  logLoads(rules, { log, settings });

  const registry = new Registry();
  const process = { settings, storeChoice, workers: 1, log };
  const memoryStore = makeMemoryStore({ ...process, nowUs });
  const metrics = makeMetrics({ registry, version: VERSION, store: storeChoice.kind, memoryStore, rules, ofProcess: false });
  // Only a port shows the health.
  const health = new Health();
  const { store, run, leave } = await withRedisPackage(() => openStore({ ...process, health, metrics, memoryStore }));
  const control = asksForControl(settings) ? await openControl({ settings, run, health, registry, log }) : undefined;
  const penalties = control && openPenalties({ settings, store, service: control.service, registry, log });
  const faults = new FaultLog({ log, nowMs: monotonicNowMs });
  const ruleMetrics = openRuleMetrics(registry, settings);
  const decide = makeShouldRateLimit({
    ruleSet: () => rules.ruleSetNow,
    store,
    modes: { shadow: settings.shadowMode, quota: settings.quotaMode },
    control: control?.data,
    keyPrefix: settings.cacheKeyPrefix,
    nowUs,
    record: openRecord({ settings, log, faults, metrics, ruleMetrics, control, recorders: [penalties] }),
    additions: (ruleSet) => additionsFor(ruleSet, chooseAdditions(settings)),
  });
  penalties?.start();
  if (choices.watch) source.watch();
  const text = new PrometheusText({});
  return {
    decide,
    rules,
    compile,
    control: control?.data,
    faults,
    metrics: async () => Buffer.concat(await text.write(await readMetrics(registry))).toString(),
    close: async () => {
      source.close();
      await penalties?.stop();
      await Promise.all([leave(), control?.close()]);
      await store.close();
    },
  };
}

/** As for `weir serve --config`. */
function compileOptions({ settings }: Pick<LimiterChoices, 'settings'>): Engine['compile'] {
  const source = { kind: 'path', path: '' } as const;
  return {
    defaultAlgorithm: chooseDefaultAlgorithm({ source, settings }).algorithm,
    defaultOverdraft: chooseDefaultOverdraft({ source, settings }),
    calendarMonth: settings.useCalendarMonthRateLimit,
    mergeDomainConfig: settings.mergeDomainConfig,
  };
}

function logLoads(rules: RulesInForce, { log, settings }: Pick<LimiterChoices, 'settings'> & { readonly log: Logger }): void {
  const isControlled = settings.controlData || settings.controlFile !== undefined;
  logLoad(rules, { log, isControlled });
  rules.onLoad(() => {
    logLoad(rules, { log, isControlled });
  });
}
