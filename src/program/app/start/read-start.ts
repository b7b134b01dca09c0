/** Reads and checks everything that Weir needs of its environment and of the files that it names, before it opens anything. */

import { ControlFileError } from '../../../state/control/file/control-file-error';
import { chooseAdmin, type AdminChoice } from '../../../configuration/settings/admin-choice';
import { chooseCheck, type CheckChoice } from '../../../configuration/settings/check-choice';
import { chooseDecisionLog, type DecisionLogChoice } from '../../../configuration/settings/decision-log-choice';
import { chooseEvents, type EventChoice } from '../../../configuration/settings/event-choice';
import { checkReferenceSettings } from '../../../configuration/settings/check-reference-settings';
import { chooseWorkers } from '../../../configuration/settings/choose-workers';
import { describeMisspelled, misspelledSettings } from '../../../configuration/settings/misspelled-settings';
import { portClashes } from '../../../configuration/settings/port-clashes';
import { meantRedis } from '../../../configuration/settings/meant-redis';
import { chooseStore, type StoreChoice } from '../../../configuration/settings/redis/store-choice';
import { chooseStatsd, type StatsdChoice } from '../../../configuration/settings/statsd-choice';
import { examineSettings, type Environment, type Settings } from '../../../configuration/settings/table/settings';
import { SettingsError, type SettingProblem } from '../../../configuration/settings/table/settings-error';
import { expiredCertificates } from '../../../configuration/settings/tls/expired-certificates';
import { readGrpcTls } from '../../../configuration/settings/tls/grpc-tls';
import type { ServerTlsFiles } from '../../../configuration/settings/tls/server-tls-files';
import { readXdsTls } from '../../../configuration/settings/tls/xds-tls';
import { chooseTracing, type TraceChoice } from '../../../configuration/settings/trace-choice';
import { transportWarning } from '../../../configuration/settings/transport-warning';
import { problemsOfPath } from '../../../configuration/settings/usable-paths';
import { StartProblems } from './start-problems';

/** The choices of the settings. */
export interface StartChoices {
  readonly settings: Settings;
  readonly storeChoice: StoreChoice;
  /** The number of serving processes. */
  readonly workers: number;
  /** Undefined: no TLS on the gRPC port. */
  readonly grpcTls: ServerTlsFiles | undefined;
  readonly statsd: StatsdChoice | undefined;
  readonly tracing: TraceChoice | undefined;
  readonly decisionLog: DecisionLogChoice | undefined;
  readonly events: EventChoice | undefined;
  readonly check: CheckChoice | undefined;
  readonly adminChoice: AdminChoice | undefined;
  /** A sentence for each setting that has another effect than its operator may expect. */
  readonly warnings: readonly string[];
}

/** Rejects with a SettingsError that has every problem. */
export async function readStart(env: Environment): Promise<StartChoices> {
  const { choices, problems } = await examineStart(env);
  if (choices === undefined || problems.length > 0) throw new SettingsError(problems);
  return choices;
}

/** Every reason in the settings, and in the files that they name, why Weir would not start. */
export async function problemsOfStart(env: Environment): Promise<readonly SettingProblem[]> {
  return (await examineStart(env)).problems;
}

interface Examined {
  /** Undefined if there are problems. */
  readonly choices: StartChoices | undefined;
  readonly problems: readonly SettingProblem[];
}

async function examineStart(env: Environment): Promise<Examined> {
  const { settings, problems: unread } = examineSettings(env);
  const problems = new StartProblems(unread);
  const withoutEffect = problems.try(() => checkReferenceSettings(env)) ?? [];
  const storeChoice = problems.try(() => chooseStore(settings));
  const workers = storeChoice && problems.try(() => chooseWorkers({ settings, storeChoice }));
  if (storeChoice !== undefined) problems.add(meantRedis({ env, storeChoice }));
  const grpcTls = problems.try(() => readGrpcTls(settings));
  const statsd = problems.try(() => chooseStatsd({ settings, env }));
  const tracing = problems.try(() => chooseTracing(settings));
  const decisionLog = problems.try(() => chooseDecisionLog(settings));
  const events = problems.try(() => chooseEvents(settings));
  const check = problems.try(() => chooseCheck(settings));
  const adminChoice = problems.try(() => chooseAdmin(settings));
  if (settings.configType === 'GRPC_XDS_SOTW') problems.try(() => readXdsTls(settings));
  problems.add(expiredCertificates(settings, Date.now()));
  problems.add(portClashes(settings));
  problems.add(problemsOfPaths(settings, storeChoice));
  problems.add(await problemsOfParts({ settings, storeChoice, statsd, adminChoice }));
  const isGood = problems.all.length === 0 && storeChoice !== undefined && workers !== undefined;
  if (!isGood) return { choices: undefined, problems: problems.all };
  const warnings = [
    ...withoutEffect,
    ...misspelledSettings(env).map(describeMisspelled),
    ...[storeChoice.warning, transportWarning(settings.transport), adminChoice?.warning].filter((each) => each !== undefined),
  ];
  const choices = { settings, storeChoice, workers, grpcTls, statsd, tracing, decisionLog, events, check, adminChoice, warnings };
  return { choices, problems: problems.all };
}

function problemsOfPaths({ grpcUds, controlFile }: Settings, storeChoice: StoreChoice | undefined): readonly SettingProblem[] {
  const socket = { name: 'GRPC_UDS', kind: 'a socket', isUsable: (there: { isSocket(): boolean }) => there.isSocket() };
  const file = { name: 'CONTROL_FILE', kind: 'a file', isUsable: (there: { isFile(): boolean }) => there.isFile() };
  return [
    ...(grpcUds === undefined ? [] : problemsOfPath({ ...socket, path: grpcUds })),
    // With Redis, which keeps the control data, the file is not used.
    ...(controlFile === undefined || storeChoice?.kind === 'redis' ? [] : problemsOfPath({ ...file, path: controlFile })),
  ];
}

interface PartsInput extends Pick<StartChoices, 'settings' | 'statsd' | 'adminChoice'> {
  readonly storeChoice: StoreChoice | undefined;
}

/** Problems of what only its part can read. */
async function problemsOfParts({ settings, storeChoice, statsd, adminChoice }: PartsInput): Promise<readonly SettingProblem[]> {
  const { controlFile } = settings;
  return [
    ...(controlFile === undefined || storeChoice?.kind !== 'memory' ? [] : await problemsOfControlFile(controlFile)),
    ...(statsd === undefined || statsd.mogrifiers.length === 0
      ? []
      : // Imported on demand: regular expressions of Go take megabytes.
        (await import('../../../server/observability/statsd/mogrifier.js')).problemsOfMogrifiers(statsd.mogrifiers)),
    ...(adminChoice === undefined
      ? []
      : (await import('../../../administration/admin/auth/credential-files.js')).problemsOfCredentials(adminChoice)),
  ];
}

async function problemsOfControlFile(file: string): Promise<readonly SettingProblem[]> {
  try {
    await (await import('../../../state/control/file/control-file.js')).checkControlFile(file);
    return [];
  } catch (error) {
    if (!(error instanceof ControlFileError)) throw error;
    return [{ name: 'CONTROL_FILE', message: error.message.replace(/^CONTROL_FILE /, '') }];
  }
}
