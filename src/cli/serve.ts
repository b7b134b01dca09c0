/** `weir serve`: reads settings and configuration, serves until told to stop. */

import cluster from 'node:cluster';
import { parseArgs } from 'node:util';
import { startApp, type App, type AppOptions } from '../app';
import { checkReferenceSettings } from '../config/check-reference-settings';
import { chooseWorkers } from '../config/choose-workers';
import { readSettings, type Environment } from '../config/settings';
import { chooseDefaultAlgorithm, chooseSource, loadRuleSet } from '../config/source';
import { chooseStore } from '../config/store-choice';
import { createLogger, type Logger } from '../observability/logger';
import { startWorkers } from '../start-workers';
import { VERSION } from '../version';
import { linkWorker, untilMayListen } from '../workers/worker-link';
import { WorkerStartError } from '../workers/worker-pool';

export const SERVE_USAGE = `weir serve [--config FILE|DIR]

  --config FILE|DIR  the rules: a YAML file, or a directory of them
                     (default: RUNTIME_ROOT/RUNTIME_SUBDIRECTORY/RUNTIME_APPDIRECTORY)

Everything else is set by the environment: docs/settings.md.`;

/**
 * Resolves with the exit code after a drain.
 *
 * @throws SettingsError or ConfigError, each with a message for the operator
 */
export async function serve({ args, env }: { readonly args: readonly string[]; readonly env: Environment }): Promise<number> {
  const { values } = parseArgs({ args: [...args], options: { config: { type: 'string' } } });
  const settings = readSettings(env);
  const log = createLogger({ level: settings.logLevel, format: settings.logFormat, worker: cluster.worker?.id });
  const storeChoice = chooseStore(settings);
  const workers = chooseWorkers({ settings, storeChoice });
  const source = chooseSource({ settings, ...(values.config !== undefined && { configPath: values.config }) });
  const { algorithm, reason } = chooseDefaultAlgorithm({ source, settings });
  const ruleSet = loadRuleSet({
    source,
    defaultAlgorithm: algorithm,
    calendarMonth: settings.useCalendarMonthRateLimit,
    generation: 1,
  });
  const appOptions = { settings, storeChoice, ruleSet, log, version: VERSION, workers };
  if (cluster.isWorker) return serveAsWorker(appOptions);
  const warnings = [...checkReferenceSettings(env), ...ruleSet.warnings, ...(storeChoice.warning === undefined ? [] : [storeChoice.warning])];
  for (const warning of warnings) log.warn(warning);
  log.info(reason);
  try {
    const running = workers === 1 ? await startApp({ ...appOptions, isWorker: false }) : await startWorkers({ settings, count: workers, ruleSet, log });
    const { grpc, http, debug } = running.ports;
    const by = workers === 1 ? '' : `, by ${workers} workers`;
    log.info(`Weir ${VERSION} serves ${ruleSet.domains.size} domain(s): gRPC on ${grpc}, HTTP on ${http}, debug on ${debug}${by}`);
    return await untilStopped({ app: running, log, told: untilSignalled() });
  } catch (error) {
    if (!(error instanceof WorkerStartError)) throw error;
    log.error(error.message);
    return error.exitCode;
  }
}

/** Ends when told, by a signal or by whoever runs it; at once when that one is gone. */
async function serveAsWorker(options: Omit<AppOptions, 'isWorker'>): Promise<number> {
  const app = await startApp({ ...options, isWorker: true, untilMayListen });
  const told = new Promise<string>((resolve) => {
    linkWorker(app.ports, {
      readMetrics: () => app.readMetrics(),
      onDrain: () => {
        resolve('drain');
      },
    });
    void untilSignalled().then(resolve);
  });
  return untilStopped({ app, log: options.log, told });
}

const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;

/** The first signal, as the reference takes each of the three; the next one ends the process at once. */
async function untilSignalled(): Promise<string> {
  const signal = await new Promise<string>((resolve) => {
    for (const each of SIGNALS) process.on(each, resolve);
  });
  for (const each of SIGNALS) process.removeAllListeners(each);
  return signal;
}

interface UntilStoppedInput {
  readonly app: Pick<App, 'drain'>;
  readonly log: Logger;
  /** Resolves when it is to end, with what said so. */
  readonly told: Promise<string>;
}

async function untilStopped({ app, log, told }: UntilStoppedInput): Promise<number> {
  log.info(`${await told}: health is off, calls in flight are answered, then this process ends`);
  await app.drain();
  log.info('drained');
  return 0;
}
