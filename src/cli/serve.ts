/** `weir serve`: reads settings and configuration, serves until told to stop. */

import { parseArgs } from 'node:util';
import { startApp, type App } from '../app';
import { checkReferenceSettings } from '../config/check-reference-settings';
import { readSettings, type Environment } from '../config/settings';
import { chooseDefaultAlgorithm, chooseSource, loadRuleSet } from '../config/source';
import { chooseStore } from '../config/store-choice';
import { createLogger, type Logger } from '../observability/logger';
import { VERSION } from '../version';

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
  const log = createLogger({ level: settings.logLevel, format: settings.logFormat });
  for (const warning of checkReferenceSettings(env)) log.warn(warning);
  const storeChoice = chooseStore(settings);
  const source = chooseSource({ settings, ...(values.config !== undefined && { configPath: values.config }) });
  const { algorithm, reason } = chooseDefaultAlgorithm({ source, settings });
  const ruleSet = loadRuleSet({
    source,
    defaultAlgorithm: algorithm,
    calendarMonth: settings.useCalendarMonthRateLimit,
    generation: 1,
  });
  for (const warning of ruleSet.warnings) log.warn(warning);
  if (storeChoice.warning !== undefined) log.warn(storeChoice.warning);
  log.info(reason);
  const app = await startApp({ settings, storeChoice, ruleSet, log, version: VERSION });
  const { grpc, http, debug } = app.ports;
  log.info(`Weir ${VERSION} serves ${ruleSet.domains.size} domain(s): gRPC on ${grpc}, HTTP on ${http}, debug on ${debug}`);
  return untilStopped({ app, log });
}

const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;

/** The first signal drains, as the reference does on each of the three; the next one ends the process at once. */
async function untilStopped({ app, log }: { readonly app: App; readonly log: Logger }): Promise<number> {
  const signal = await new Promise<string>((resolve) => {
    for (const each of SIGNALS) process.on(each, resolve);
  });
  for (const each of SIGNALS) process.removeAllListeners(each);
  log.info(`${signal}: health is off, calls in flight are answered, then this process ends`);
  await app.drain();
  log.info('drained');
  return 0;
}
