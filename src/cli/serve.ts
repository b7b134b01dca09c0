/** `weir serve`: reads settings and configuration, serves until told to stop. */

import cluster from 'node:cluster';
import { existsSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { startApp, type App, type AppOptions } from '../app';
import { checkReferenceSettings } from '../config/check-reference-settings';
import { chooseWorkers } from '../config/choose-workers';
import { makeCompileSet } from '../config/compile-set';
import { FileSource } from '../config/file-source';
import { readGrpcTls } from '../config/grpc-tls';
import { misspelledSettings } from '../config/misspelled-settings';
import { RulesInForce, type SetSource } from '../config/rules-in-force';
import { readSettings, type Environment } from '../config/settings';
import { chooseDefaultAlgorithm, chooseDefaultOverdraft, choosePlace, type ConfigPlace } from '../config/source';
import { chooseStatsd } from '../config/statsd-choice';
import { chooseStore } from '../config/store-choice';
import { takeGrpcLog } from '../observability/grpc-log';
import { createLogger, type Logger } from '../observability/logger';
import type { ManagementServer } from '../observability/metrics';
import { openXds } from '../open-xds';
import { startWorkers } from '../start-workers';
import { VERSION } from '../version';
import { WorkerLink } from '../workers/worker-link';
import { WorkerStartError } from '../workers/worker-pool';
import { stopSignals } from './stop-signals';

export const SERVE_USAGE = `weir serve [--config FILE|DIR]

  --config FILE|DIR  the rules: a YAML file, or a directory of them
                     (default: RUNTIME_ROOT/RUNTIME_SUBDIRECTORY/RUNTIME_APPDIRECTORY,
                     or with CONFIG_TYPE=GRPC_XDS_SOTW a management server)

Everything else is set by the environment: docs/settings.md.`;

/** Lines of the log that are written before calls have their turn: so many take some milliseconds. */
const LINES_AT_ONCE = 20;

/**
 * Resolves with the exit code after a drain.
 *
 * @throws SettingsError or ConfigError, each with a message for the operator
 */
export async function serve({ args, env }: { readonly args: readonly string[]; readonly env: Environment }): Promise<number> {
  const { values } = parseArgs({ args: [...args], options: { config: { type: 'string' } } });
  const settings = readSettings(env);
  const log = createLogger({ level: settings.logLevel, format: settings.logFormat, worker: cluster.worker?.id });
  takeGrpcLog(log);
  // Whoever reads the log may go away. That is no reason to decide no more: without a listener the next line would end this process.
  process.stderr.on('error', () => undefined);
  const storeChoice = chooseStore(settings);
  const workers = chooseWorkers({ settings, storeChoice });
  const grpcTls = readGrpcTls(settings);
  const statsd = chooseStatsd({ settings, env });
  const place = choosePlace({ settings, configPath: values.config });
  const { algorithm, reason } = chooseDefaultAlgorithm({ source: place, settings });
  const defaultOverdraft = chooseDefaultOverdraft({ source: place, settings });
  const { useCalendarMonthRateLimit: calendarMonth, mergeDomainConfig } = settings;
  const rules = new RulesInForce({ compile: makeCompileSet({ defaultAlgorithm: algorithm, defaultOverdraft, calendarMonth, mergeDomainConfig }) });
  const appOptions = { settings, storeChoice, rules, log, version: VERSION, workers, grpcTls, statsd };
  if (cluster.isWorker) return serveAsWorker(appOptions);
  const misspelled = misspelledSettings(env).map(({ name, meant }) => `${name} is no setting; did you mean ${meant}?`);
  const warnings = [...checkReferenceSettings(env), ...misspelled, ...(storeChoice.warning === undefined ? [] : [storeChoice.warning])];
  const { source, managementServer } = openSource(place, { settings, rules, log });
  stopSignals.onHangUp(() => { source.reload(); });
  await source.load();
  if (rules.error !== undefined && !mayWait(place, settings)) throw rules.error;
  for (const warning of warnings) log.warn(warning);
  log.info(reason);
  if (defaultOverdraft) log.info("A descriptor's own hits are charged in full, also past the limit, unless DEFAULT_OVERDRAFT or overdraft: says otherwise.");
  if (storeChoice.kind === 'redis' && settings.failureModeInstances === 1) {
    log.info('FAILURE_MODE_INSTANCES is 1: until this instance has reached Redis once, it lets 0.8 of each limit pass by itself. With several instances, set it to their number.');
  }
  tellLoad(rules, log);
  rules.onLoad(() => {
    tellLoad(rules, log);
    if (rules.ruleSet !== undefined && rules.error === undefined) log.info(`configuration generation ${rules.ruleSet.generation} is in force: ${rules.ruleSet.domains.size} domain(s)`);
  });
  source.watch();
  try {
    const running = workers === 1 ? await startApp({ ...appOptions, managementServer, isWorker: false }) : await startWorkers({ settings, count: workers, rules, managementServer, log, statsd });
    const { grpc, http, debug } = running.ports;
    const by = workers === 1 ? '' : `, by ${workers} workers`;
    const what = rules.ruleSet === undefined ? 'no domain yet' : `${rules.ruleSet.domains.size} domain(s)`;
    log.info(`Weir ${VERSION} serves ${what}: gRPC on ${grpc}, HTTP on ${http}, debug on ${debug}${by}`);
    return await untilStopped({ app: running, log, told: stopSignals.untilTold() });
  } catch (error) {
    if (!(error instanceof WorkerStartError)) throw error;
    log.error(error.message);
    return error.exitCode;
  } finally {
    source.close();
  }
}

interface OpenedSource {
  readonly source: SetSource;
  /** Undefined: it is of files. */
  readonly managementServer: ManagementServer | undefined;
}

function openSource(place: ConfigPlace, { settings, rules, log }: Pick<AppOptions, 'settings' | 'rules' | 'log'>): OpenedSource {
  if (place.kind === 'xds') {
    const source = openXds({ settings, rules, log });
    return { source, managementServer: source };
  }
  const source = new FileSource({
    source: place,
    offer: (set) => rules.offer(set),
    onTrouble: (sentence) => { log.warn(sentence); },
  });
  return { source, managementServer: undefined };
}

/**
 * Whether a configuration that is bad at the start is waited for. A deployment that names its place mends it there, and
 * instances that are not ready yet hold it up; a person who starts Weir by hand is better told at once.
 */
function mayWait(place: ConfigPlace, { runtimeRoot }: Pick<AppOptions['settings'], 'runtimeRoot'>): boolean {
  if (place.kind === 'xds') return true;
  return place.kind === 'runtime' && (runtimeRoot !== undefined || existsSync(place.directory));
}

/** What became of the last load. */
function tellLoad({ ruleSet, error }: RulesInForce, log: Logger): void {
  if (error !== undefined) {
    const rest = ruleSet === undefined ? 'there is none yet, so calls are UNAVAILABLE' : `generation ${ruleSet.generation}, the last good one, stays in force`;
    void tellProblems([...error.message.split('\n'), `the configuration is refused for what is told above: ${rest}`], log);
    return;
  }
  for (const warning of ruleSet?.warnings ?? []) log.warn(warning);
}

/** There may be a thousand: calls that come meanwhile are answered in between. */
async function tellProblems(lines: readonly string[], log: Logger): Promise<void> {
  for (let i = 0; i < lines.length; i += LINES_AT_ONCE) {
    for (const line of lines.slice(i, i + LINES_AT_ONCE)) log.error(line);
    await nextTurn();
  }
}

/** Ends when told, by a signal or by whoever runs it; at once when that one is gone. */
async function serveAsWorker(options: Omit<AppOptions, 'isWorker'>): Promise<number> {
  // Whoever runs it loads for all: a terminal tells every process.
  stopSignals.onHangUp(() => undefined);
  const link = new WorkerLink(options.rules);
  await link.untilConfigured();
  const app = await startApp({ ...options, isWorker: true, untilMayListen: () => link.untilMayListen() });
  const told = new Promise<string>((resolve) => {
    link.serve(app.ports, {
      readMetrics: () => app.readMetrics(),
      onDrain: () => {
        resolve('drain');
      },
    });
    void stopSignals.untilTold().then(resolve);
  });
  const exitCode = await untilStopped({ app, log: options.log, told });
  await link.sayLast();
  return exitCode;
}

interface UntilStoppedInput {
  readonly app: Pick<App, 'drain'>;
  readonly log: Logger;
  /** Resolves when it is to end, with what said so. */
  readonly told: Promise<string>;
}

async function untilStopped({ app, log, told }: UntilStoppedInput): Promise<number> {
  log.info(`${await told}: health is off, calls are answered for DRAIN_DELAY, those in flight after that, then this process ends`);
  await app.drain();
  log.info('drained');
  return 0;
}
