/** `weir serve`: reads the settings and the configuration, and serves until a signal or the parent process ends it. */

import cluster from 'node:cluster';
import { existsSync } from 'node:fs';
import { startApp, type App, type AppOptions } from '../app/app';
import type { OpenedAdmin } from '../app/open-admin';
import { chooseAdmin } from '../settings/admin-choice';
import { chooseCheck } from '../settings/check-choice';
import { checkReferenceSettings } from '../settings/check-reference-settings';
import { chooseWorkers } from '../settings/choose-workers';
import { makeCompileSet } from '../source/compile-set';
import { FileSource } from '../source/files/file-source';
import { readGrpcTls } from '../settings/tls/grpc-tls';
import { describeMisspelled, misspelledSettings } from '../settings/misspelled-settings';
import { RulesInForce, type SetSource } from '../source/rules-in-force';
import { readSettings, type Environment } from '../settings/table/settings';
import type { SettingRow } from '../settings/table/setting-row';
import { SETTINGS_TABLE } from '../settings/table/settings-table';
import { chooseDefaultAlgorithm, chooseDefaultOverdraft, chooseExample, choosePlace, type ConfigPlace } from '../source/files/config-place';
import { chooseStatsd } from '../settings/statsd-choice';
import { chooseTracing } from '../settings/trace-choice';
import { chooseStore } from '../settings/redis/store-choice';
import { transportWarning } from '../settings/transport-warning';
import { event } from '../observability/log/log-event';
import { createLogger, type Logger } from '../observability/log/logger';
import type { ManagementServer } from '../observability/metrics/metrics';
import { startWorkers } from '../app/start-workers';
import { VERSION } from '../app/version';
import { WorkerLink } from '../workers/worker-link';
import { WorkerStartError } from '../workers/worker-pool';
import { adviseOnFile } from './advise-on-file';
import { logLoad } from './log-load';
import { readArgs } from './read-args';
import { stopSignals } from './stop-signals';

export const SERVE_USAGE = `weir serve [--config FILE|DIR] [--or-example]

  --config FILE|DIR  the rules: a YAML file, or a directory of them
                     (default: RUNTIME_ROOT/RUNTIME_SUBDIRECTORY/RUNTIME_APPDIRECTORY,
                     or with CONFIG_TYPE=GRPC_XDS_SOTW a management server)
  --or-example       serve the example of the image if neither --config nor the
                     environment says where the rules are, as the image does

All other settings are environment variables: weir settings lists them, docs/settings.md explains them.`;

/**
 * Resolves to the exit code after a drain.
 *
 * @throws SettingsError or ConfigError, with a message for the operator
 */
export async function serve({ args, env }: { readonly args: readonly string[]; readonly env: Environment }): Promise<number> {
  const { values } = readArgs(args, {
    command: 'weir serve',
    usage: SERVE_USAGE,
    options: { config: { type: 'string' }, 'or-example': { type: 'boolean' } },
    adviseOnOperand: adviseOnFile,
    adviseOnOption: adviseOnSetting,
  });
  const settings = readSettings(env);
  const log = createLogger({ level: settings.logLevel, format: settings.logFormat, worker: cluster.worker?.id });
  // Only this transport needs the log of grpc-js, and importing it loads grpc-js.
  if (settings.transport === 'grpc-js') (await import('../observability/log/grpc-log.js')).takeGrpcLog(log);
  // The reader of the log may disappear. Without a listener the next line would end this process, so errors are ignored.
  process.stderr.on('error', () => undefined);
  const storeChoice = chooseStore(settings);
  const workers = chooseWorkers({ settings, storeChoice });
  const grpcTls = readGrpcTls(settings);
  const statsd = chooseStatsd({ settings, env });
  const tracing = chooseTracing(settings);
  const check = chooseCheck(settings);
  const adminChoice = chooseAdmin(settings);
  const example = values['or-example'] === true && values.config === undefined ? chooseExample({ env }) : undefined;
  const place = example ?? choosePlace({ settings, configPath: values.config });
  const { algorithm, reason } = chooseDefaultAlgorithm({ source: place, settings });
  const defaultOverdraft = chooseDefaultOverdraft({ source: place, settings });
  const { useCalendarMonthRateLimit: calendarMonth, mergeDomainConfig } = settings;
  const rules = new RulesInForce({
    compile: makeCompileSet({ defaultAlgorithm: algorithm, defaultOverdraft, calendarMonth, mergeDomainConfig }),
  });
  const appOptions = { settings, storeChoice, rules, log, version: VERSION, workers, grpcTls, statsd, tracing, check };
  if (cluster.isWorker) return serveAsWorker(appOptions);
  const misspelled = misspelledSettings(env).map(describeMisspelled);
  const warnings = [
    ...checkReferenceSettings(env),
    ...misspelled,
    ...[storeChoice.warning, transportWarning(settings.transport), adminChoice?.warning].filter((warning) => warning !== undefined),
  ];
  const { source, managementServer } = await openSource(place, { settings, rules, log });
  stopSignals.onHangUp(() => {
    source.reload();
  });
  await source.load();
  if (rules.error !== undefined && !mayWait(place, settings)) throw rules.error;
  for (const warning of warnings) log.warn(event('setting_warning'), warning);
  if (example?.kind === 'path') {
    log.warn(
      event('example_served', { path: example.path }),
      `The limits are those of the example in ${example.path}, because nothing says where yours are: mount a directory of YAML files and set RUNTIME_ROOT, or use --config.`,
    );
  }
  log.info(event('default_algorithm', { algorithm }), reason);
  if (defaultOverdraft)
    log.info(
      event('default_overdraft'),
      "A descriptor's own hits are charged in full, also past the limit, unless DEFAULT_OVERDRAFT or overdraft: says otherwise.",
    );
  if (storeChoice.kind === 'redis' && settings.failureModeInstances === 1) {
    log.info(
      event('failure_mode_instances'),
      'FAILURE_MODE_INSTANCES is 1: an instance that has not reached Redis since its start admits 0.8 of each limit on its own. If several instances share the limits, set it to their number.',
    );
  }
  const isControlled = settings.controlData || settings.controlFile !== undefined;
  logLoad(rules, { log, isControlled });
  rules.onLoad(() => {
    logLoad(rules, { log, isControlled });
    if (rules.ruleSet !== undefined && rules.error === undefined)
      log.info(
        event('config_loaded', { generation: rules.ruleSet.generation, domains: rules.ruleSet.domains.size }),
        `configuration generation ${rules.ruleSet.generation} is in force: ${rules.ruleSet.domains.size} domain(s)`,
      );
  });
  source.watch();
  let admin: OpenedAdmin | undefined;
  try {
    const running =
      workers === 1
        ? await startApp({ ...appOptions, managementServer, isWorker: false })
        : await startWorkers({ settings, count: workers, rules, managementServer, log, statsd });
    const { grpc, http, debug } = running.ports;
    const by = workers === 1 ? '' : `, by ${workers} workers`;
    const what = rules.ruleSet === undefined ? 'no domain yet' : `${rules.ruleSet.domains.size} domain(s)`;
    log.info(
      event('listening', { version: VERSION, domains: rules.ruleSet?.domains.size ?? 0, grpc, http, debug, workers }),
      `Weir ${VERSION} serves ${what}: gRPC on ${grpc}, HTTP on ${http}, debug on ${debug}${by}`,
    );
    if (adminChoice !== undefined) {
      // Imported on demand, like what its thread loads.
      const { openAdmin } = await import('../app/open-admin.js');
      const compile = { defaultAlgorithm: algorithm, defaultOverdraft, calendarMonth, mergeDomainConfig };
      const data = { version: VERSION, compile, isEmbedded: storeChoice.kind === 'memory', hasWorkers: workers > 1 };
      admin = await openAdmin({ ...running.admin, data, rules, log });
      log.info(event('admin_listening', { port: admin.port }), `the admin API listens on ${adminChoice.host}, port ${admin.port}`);
    }
    return await untilStopped({ app: running, log, stopped: stopSignals.untilSignal() });
  } catch (error) {
    if (!(error instanceof WorkerStartError)) throw error;
    log.error(event('worker_start_failed', { exitCode: error.exitCode }), error.message);
    return error.exitCode;
  } finally {
    await admin?.close();
    source.close();
  }
}

/** The advice for an option with the name of a setting, as other servers have them. */
function adviseOnSetting(option: string, value: string | undefined): string | undefined {
  const name = option.replaceAll('-', '_').toUpperCase();
  const setting = Object.values<SettingRow>(SETTINGS_TABLE).find((row) => row.name === name);
  if (setting === undefined) return undefined;
  return `set ${name}${value === undefined || setting.secret === true ? '' : `=${value}`} in the environment`;
}

interface OpenedSource {
  readonly source: SetSource;
  /** Undefined: the configuration is in files. */
  readonly managementServer: ManagementServer | undefined;
}

async function openSource(
  place: ConfigPlace,
  { settings, rules, log }: Pick<AppOptions, 'settings' | 'rules' | 'log'>,
): Promise<OpenedSource> {
  if (place.kind === 'xds') {
    // Importing xDS loads grpc-js and protobufjs: 60 ms of CPU and 8 MB that a configuration in files does not need.
    const { openXds } = await import('../app/open-xds.js');
    const source = openXds({ settings, rules, log });
    return { source, managementServer: source };
  }
  const source = new FileSource({
    source: place,
    offer: (set) => rules.offer(set),
    onTrouble: (sentence) => {
      log.warn(event('config_source_trouble'), sentence);
    },
  });
  return { source, managementServer: undefined };
}

/**
 * Whether the server waits after it starts with an invalid configuration. A deployment that names its files fixes them there, and its
 * rollout waits for ready instances; a person who starts Weir by hand gets the error at once.
 */
function mayWait(place: ConfigPlace, { runtimeRoot }: Pick<AppOptions['settings'], 'runtimeRoot'>): boolean {
  if (place.kind === 'xds') return true;
  return place.kind === 'runtime' && (runtimeRoot !== undefined || existsSync(place.directory));
}

/** Ends at a signal or a message of the parent process, and at once when the parent is gone. */
async function serveAsWorker(options: Omit<AppOptions, 'isWorker'>): Promise<number> {
  // A terminal sends the signal to every process, but only the parent loads the configuration.
  stopSignals.onHangUp(() => undefined);
  const link = new WorkerLink(options.rules);
  await link.untilConfigured();
  const app = await startApp({ ...options, isWorker: true, untilMayListen: () => link.untilMayListen() });
  const stopped = new Promise<string>((resolve) => {
    link.serve(app.ports, {
      readMetrics: () => app.readMetrics(),
      tail: app.admin.tail,
      onDrain: () => {
        resolve('drain');
      },
    });
    void stopSignals.untilSignal().then(resolve);
  });
  const exitCode = await untilStopped({ app, log: options.log, stopped });
  await link.sendLast();
  return exitCode;
}

interface UntilStoppedInput {
  readonly app: Pick<App, 'drain'>;
  readonly log: Logger;
  /** Resolves with the reason when the process should stop. */
  readonly stopped: Promise<string>;
}

async function untilStopped({ app, log, stopped }: UntilStoppedInput): Promise<number> {
  const signal = await stopped;
  log.info(
    event('draining', { signal }),
    `${signal}: health is off, calls are answered for DRAIN_DELAY, those in flight after that, then this process ends`,
  );
  await app.drain();
  log.info(event('drained'), 'drained');
  return 0;
}
