/** `weir serve`: reads and checks everything, opens its parts, binds all ports, and then serves until a signal or the parent process ends it. */

import cluster from 'node:cluster';
import type { AdminThreadData } from '../../administration/admin/link/messages';
import { openApp, type App } from '../app/app';
import type { AppOptions } from '../app/context/context';
import type { OpenedAdmin } from '../app/admin/open-admin';
import { bindAll, type BoundPorts } from '../app/start/bind-all';
import { readStart, type StartChoices } from '../app/start/read-start';
import { makeCompileSet } from '../../configuration/source/compile-set';
import { FileSource } from '../../configuration/source/files/file-source';
import { RulesInForce, type SetSource } from '../../configuration/source/rules-in-force';
import type { Environment, Settings } from '../../configuration/settings/table/settings';
import { SettingsError } from '../../configuration/settings/table/settings-error';
import type { SettingRow } from '../../configuration/settings/table/setting-row';
import { SETTINGS_TABLE } from '../../configuration/settings/table/settings-table';
import {
  chooseDefaultAlgorithm,
  chooseDefaultOverdraft,
  chooseExample,
  choosePlace,
  mayWaitFor,
  type ConfigPlace,
} from '../../configuration/source/files/config-place';
import { event } from '../../server/observability/log/log-event';
import { createLogger, type Logger } from '../../server/observability/log/logger';
import type { ManagementServer } from '../../server/observability/metrics/metrics';
import { VERSION } from '../app/context/version';
import { WorkerLink, WORKER_PLACE } from '../../server/workers/worker-link';
import { WorkerStartError } from '../../server/workers/worker-start-error';
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

/** Opens the file of the decision log again, after it was renamed. SIGUSR1 starts Node's debugger, and SIGHUP loads the configuration. */
const REOPEN_SIGNAL = 'SIGUSR2';

/**
 * Resolves to the exit code after a drain.
 *
 * @throws SettingsError, ConfigError, ListenError or AggregateError of them, each with a message for the operator
 */
export async function serve({ args, env }: { readonly args: readonly string[]; readonly env: Environment }): Promise<number> {
  const { values } = readArgs(args, {
    command: 'weir serve',
    usage: SERVE_USAGE,
    options: { config: { type: 'string' }, 'or-example': { type: 'boolean' } },
    adviseOnOperand: adviseOnFile,
    adviseOnOption: adviseOnSetting,
  });
  const start = await readStart(env).catch((error: unknown) => rejectWithAll(error, { env, path: values.config }));
  const log = await openLog(start.settings);
  const configuration = chooseConfiguration({ env, start, path: values.config, orExample: values['or-example'] === true });
  const rules = new RulesInForce({ compile: makeCompileSet(configuration.compile) });
  const options: ProcessOptions = { ...start, rules, log, version: VERSION };
  return cluster.isWorker ? serveAsWorker({ ...options, ...choicesOfWorker(start, env) }) : serveAlone(options, configuration);
}

/** The options of every process that serves. */
type ProcessOptions = StartChoices & Omit<AppOptions, 'isWorker' | 'managementServer'>;

/** Adds the problems of the configuration to those of the settings, so that one report has all of them. */
async function rejectWithAll(error: unknown, given: { readonly env: Environment; readonly path: string | undefined }): Promise<never> {
  if (!(error instanceof SettingsError) || cluster.isWorker) throw error;
  // Imported on demand: the full YAML reader takes 60 ms of CPU.
  const { configErrorOf } = await import('./config-error-of.js');
  const configError = await configErrorOf(given);
  throw configError === undefined ? error : new AggregateError([error, configError], 'the settings and the configuration are invalid');
}

async function openLog({ logLevel, logFormat, transport }: Settings): Promise<Logger> {
  const log = createLogger({ level: logLevel, format: logFormat, worker: cluster.worker?.id });
  // Only this transport needs the log of grpc-js, and importing it loads grpc-js.
  if (transport === 'grpc-js') (await import('../../server/observability/log/grpc-log.js')).takeGrpcLog(log);
  // The reader of the log may disappear. Without a listener the next line would end this process, so errors are ignored.
  process.stderr.on('error', () => undefined);
  return log;
}

interface Configuration {
  readonly place: ConfigPlace;
  readonly compile: AdminThreadData['compile'];
  /** Why limits use the default algorithm, as a sentence. */
  readonly reason: string;
  /** The folder of the example, if that is served. */
  readonly example: string | undefined;
}

interface ChooseConfigurationInput {
  readonly env: Environment;
  readonly start: StartChoices;
  readonly path: string | undefined;
  readonly orExample: boolean;
}

function chooseConfiguration({ env, start: { settings }, path, orExample }: ChooseConfigurationInput): Configuration {
  const example = orExample && path === undefined ? chooseExample({ env }) : undefined;
  const place = example ?? choosePlace({ settings, configPath: path });
  const { algorithm, reason } = chooseDefaultAlgorithm({ source: place, settings });
  const { useCalendarMonthRateLimit: calendarMonth, mergeDomainConfig } = settings;
  const defaultOverdraft = chooseDefaultOverdraft({ source: place, settings });
  const compile = { defaultAlgorithm: algorithm, defaultOverdraft, calendarMonth, mergeDomainConfig };
  return { place, compile, reason, example: example?.kind === 'path' ? example.path : undefined };
}

/** Serves in this process, or in workers of it. */
async function serveAlone(options: ProcessOptions, configuration: Configuration): Promise<number> {
  const { rules, log, warnings } = options;
  const { source, managementServer } = await openSource(configuration.place, options);
  stopSignals.onHangUp(() => {
    source.reload();
  });
  let served: Pick<App, 'reopenLog'> | undefined;
  // Before that, the signal must not end the process.
  process.on(REOPEN_SIGNAL, () => served?.reopenLog());
  let admin: OpenedAdmin | undefined;
  try {
    await source.load();
    if (rules.error !== undefined && !mayWaitFor(configuration.place, options.settings)) throw rules.error;
    for (const warning of warnings) log.warn(event('setting_warning'), warning);
    logConfiguration(options, configuration);
    source.watch();
    const app =
      options.workers === 1
        ? await openApp({ ...options, managementServer, isWorker: false })
        : await (await import('../app/open-workers.js')).openWorkers({ ...options, managementServer });
    admin = await openAdminOf(app, options, configuration.compile);
    const ports = await bindAll([...app.binds, ...(admin ? [admin.bind] : [])]);
    served = app;
    app.open();
    admin?.open();
    logListening(ports, options);
    return await untilStopped({ app, log, stopped: stopSignals.untilSignal() });
  } catch (error) {
    if (!(error instanceof WorkerStartError)) throw error;
    log.error(event('worker_start_failed', { exitCode: error.exitCode }), error.message);
    return error.exitCode;
  } finally {
    await admin?.close();
    source.close();
  }
}

/** Undefined: ADMIN_PORT is not set. */
async function openAdminOf(
  { admin }: Pick<App, 'admin'>,
  { adminChoice, storeChoice, workers, rules, log }: ProcessOptions,
  compile: Configuration['compile'],
): Promise<OpenedAdmin | undefined> {
  if (adminChoice === undefined) return undefined;
  // Imported on demand, like what its thread loads.
  const { openAdmin } = await import('../app/admin/open-admin.js');
  const data = { version: VERSION, compile, isEmbedded: storeChoice.kind === 'memory', hasWorkers: workers > 1 };
  return openAdmin({ ...admin, data, rules, log });
}

function logConfiguration({ settings, storeChoice, rules, log }: ProcessOptions, { compile, reason, example }: Configuration): void {
  if (example !== undefined) {
    log.warn(
      event('example_served', { path: example }),
      `the limits are those of the example in ${example}, because nothing says where yours are: mount a directory of YAML files and set RUNTIME_ROOT, or use --config`,
    );
  }
  log.info(event('default_algorithm', { algorithm: compile.defaultAlgorithm }), reason);
  if (compile.defaultOverdraft)
    log.info(
      event('default_overdraft'),
      "a descriptor's own hits are charged in full, also past the limit, unless DEFAULT_OVERDRAFT or overdraft: says otherwise",
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
}

function logListening({ grpc, http, debug, admin }: Partial<BoundPorts>, { rules, workers, adminChoice, log }: ProcessOptions): void {
  const by = workers === 1 ? '' : `, by ${workers} workers`;
  const what = rules.ruleSet === undefined ? 'no domain yet' : `${rules.ruleSet.domains.size} domain(s)`;
  log.info(
    event('listening', { version: VERSION, domains: rules.ruleSet?.domains.size ?? 0, grpc, http, debug, workers }),
    `Weir ${VERSION} serves ${what}: gRPC on ${grpc}, HTTP on ${http}, debug on ${debug}${by}`,
  );
  if (adminChoice !== undefined)
    log.info(event('admin_listening', { port: admin }), `the admin API listens on ${adminChoice.host}, port ${admin}`);
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

/** Each worker has its own share and its own decisions, and so its own files. */
function choicesOfWorker(
  { settings, decisionLog }: Pick<StartChoices, 'settings' | 'decisionLog'>,
  { [WORKER_PLACE]: place = '' }: Environment,
): Pick<StartChoices, 'settings' | 'decisionLog'> {
  const { failureModeFile } = settings;
  return {
    settings: failureModeFile === undefined ? settings : { ...settings, failureModeFile: `${failureModeFile}.${place}` },
    decisionLog:
      decisionLog === undefined || decisionLog.place === 'stdout'
        ? decisionLog
        : { ...decisionLog, place: { path: `${decisionLog.place.path}.worker${place}` } },
  };
}

/** Ends at a signal or a message of the parent process, and at once when the parent is gone. */
async function serveAsWorker(options: ProcessOptions): Promise<number> {
  // A terminal sends the signals to every process, but only the parent loads the configuration, and it passes the other one on.
  stopSignals.onHangUp(() => undefined);
  process.on(REOPEN_SIGNAL, () => undefined);
  const link = new WorkerLink(options.rules);
  await link.untilConfigured();
  const app = await openApp({ ...options, isWorker: true });
  await link.untilMayListen();
  const { grpc = 0, http = 0 } = await bindAll(app.binds);
  const stopped = new Promise<string>((resolve) => {
    link.serve(
      { grpc, http },
      {
        readMetrics: () => app.readMetrics(),
        tail: app.admin.tail,
        onOpen: () => {
          app.open();
        },
        onDrain: () => {
          resolve('drain');
        },
        onReopenLog: () => {
          app.reopenLog();
        },
      },
    );
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
