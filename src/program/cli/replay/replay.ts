/** `weir replay`: says what a candidate would have denied and admitted on the requests of logs, without a server. */

import { readFile } from 'node:fs/promises';
import type { Environment } from '../../../configuration/settings/table/settings';
import { ConfigError } from '../../../configuration/problems/config-error';
import { ProblemList } from '../../../configuration/problems/problem-list';
import { asError } from '../../../lib/errors';
import { readArgs } from '../read-args';
import { stopSignals } from '../stop-signals';
import { readDurationUs } from '../test/file/virtual-time';
import { readChoice, readWhole, UsageError } from '../usage-error';
import { LOG_FORMATS } from './formats/log-formats';
import type { LogMapping } from './mapping/log-mapping';
import { fieldsOfLog } from './logs/log-file';
import { STANDARD_INPUT } from './logs/log-bytes';
import { readEnvoyMapping } from './mapping/envoy-mapping';
import { readMapping } from './mapping/read-mapping';
import { Progress } from './progress';
import { REPLAY_FORMATS } from './report/replay-formats';
import { makeReport } from './report/replay-report';
import { loadConfiguration, runReplay } from './run/run-replay';

export const REPLAY_USAGE = `weir replay LOG … --config FILE [--candidate FILE] [--map FILE | --envoy FILE]
            [--format text|json|markdown|html]

  LOG           access logs, CSV or decision logs, also .gz and .zst; - is standard input
  --config      the configuration in force: a file or a directory
  --candidate   the configuration to compare with it
  --map         the file that says which fields of a line are the time and the descriptors
  --envoy       the configuration of the Envoy that wrote the log: descriptors come from its rate limit actions
  --format-log  csv, json, envoy, combined or decisions (default: found from the first line)
  --format      text (default), json, markdown or html
  --suggest     for each rule the smallest limit that denies at most this share, such as --suggest 0.1%
  --top         keys to list (default: --top 20)
  --reorder     how long lines wait for earlier ones, in the time of the log (default: --reorder 10s)
  --errors-max  end after more wrong lines than this (default: --errors-max 100000)
  --buckets-max buckets of each configuration at once (default: --buckets-max 4000000)
  --progress    show the progress, also if standard error is not a terminal

Exit codes: 0 the logs were replayed, 1 the replay was interrupted or had too many wrong lines (the report is of the part before),
2 an argument, a file or a configuration is invalid.`;

export const REPLAY_OPTIONS = {
  config: { type: 'string' },
  candidate: { type: 'string' },
  map: { type: 'string' },
  envoy: { type: 'string' },
  'format-log': { type: 'string' },
  format: { type: 'string' },
  suggest: { type: 'string' },
  top: { type: 'string' },
  reorder: { type: 'string' },
  'errors-max': { type: 'string' },
  'buckets-max': { type: 'string' },
  progress: { type: 'boolean' },
} as const;

const TOP_MAX = 10_000;
const BUCKETS_MAX = 50_000_000;
const LINES_MAX = 1e15;

/**
 * Resolves to the exit code.
 *
 * @throws UsageError or SettingsError
 */
export async function replay({ args, env }: { readonly args: readonly string[]; readonly env: Environment }): Promise<number> {
  const { values, positionals: logs } = readArgs(args, {
    command: 'weir replay',
    usage: REPLAY_USAGE,
    options: REPLAY_OPTIONS,
    operand: 'LOG',
    takesSeveral: true,
  });
  if (logs.length === 0) throw new UsageError('weir replay: no log is named; name files, or - for standard input');
  if (values.config === undefined) throw new UsageError('weir replay: --config is missing; name the configuration in force');
  const format = readChoice('--format', values.format, ['text', 'json', 'markdown', 'html']);
  const formatLog = values['format-log'] === undefined ? undefined : readChoice('--format-log', values['format-log'], LOG_FORMATS);
  const suggest = readShare(values.suggest);
  const top = readWhole('--top', values.top, { min: 0, max: TOP_MAX, otherwise: 20 });
  const reorderUs = readReorder(values.reorder);
  const errorsMax = readWhole('--errors-max', values['errors-max'], { min: 0, max: LINES_MAX, otherwise: 100_000 });
  const bucketsMax = readWhole('--buckets-max', values['buckets-max'], { min: 1, max: BUCKETS_MAX, otherwise: 4_000_000 });
  const list = new ProblemList();
  if (values.map !== undefined && values.envoy !== undefined)
    throw new UsageError('weir replay: --map and --envoy both make descriptors; give one of them');
  const mapping =
    values.envoy === undefined
      ? await readMappingFile(values.map, list)
      : await readEnvoyFile(values.envoy, { log: logs[0] ?? STANDARD_INPUT, list });
  const paths = [values.config, values.candidate].filter((each) => each !== undefined);
  const configurations = [];
  try {
    list.throwIfAny();
    for (const path of paths) configurations.push(await loadConfiguration(path, env));
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`${error.message}\n`);
    return 2;
  }
  const progress = await Progress.start({ logs, isShown: values.progress === true || process.stderr.isTTY });
  const interrupt = interrupted();
  const outcome = await runReplay({
    logs,
    configurations,
    format: formatLog,
    mapping,
    reorderUs,
    bucketsMax,
    errorsMax,
    isInterrupted: () => interrupt.isInterrupted,
    onProgress: progress.show,
  });
  progress.end();
  const report = makeReport(outcome, { top, suggest });
  for (const { file, line, message } of report.wrong_lines) process.stderr.write(`${file}:${line}: ${message}\n`);
  process.stdout.write(REPLAY_FORMATS[format](report));
  if (outcome.earlyEnd === undefined) return 0;
  process.stderr.write(
    outcome.earlyEnd === 'interrupted'
      ? 'weir replay: interrupted; the report is of the requests before\n'
      : `weir replay: more than ${errorsMax} lines are wrong (--errors-max); the report is of the requests before\n`,
  );
  return 1;
}

async function readMappingFile(name: string | undefined, list: ProblemList): Promise<LogMapping | undefined> {
  return name === undefined ? undefined : readMapping({ name, text: await readText('--map', name) }, list);
}

/** Says first what the log lacks, because the descriptors that need it are left out. */
async function readEnvoyFile(
  name: string,
  { log, list }: { readonly log: string; readonly list: ProblemList },
): Promise<LogMapping | undefined> {
  const read = readEnvoyMapping({ file: { name, text: await readText('--envoy', name) }, fields: await fieldsOfLog(log), list });
  for (const each of read?.missing ?? []) process.stderr.write(`weir replay: the log lacks ${each}\n`);
  if (read?.mapping.descriptors.length === 0)
    throw new UsageError(`weir replay: no rate limit action of ${name} can be replayed from this log; use --map`);
  return read?.mapping;
}

function readText(option: string, name: string): Promise<string> {
  return readFile(name, 'utf8').catch((error: unknown) => {
    throw new UsageError(`${option}: ${name} cannot be read: ${asError(error).message}`);
  });
}

/** `0.1%` or `0.001`. */
function readShare(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const share = /^\d{1,3}(?:\.\d{1,9})?%?$/.test(text) ? parseFloat(text) / (text.endsWith('%') ? 100 : 1) : NaN;
  if (share >= 0 && share < 1) return share;
  throw new UsageError(`--suggest: ${JSON.stringify(text)} is not accepted; use a share such as 0.1%`);
}

function readReorder(text: string | undefined): number {
  const us = readDurationUs(text ?? '10s');
  if (us !== undefined) return us;
  throw new UsageError(`--reorder: ${JSON.stringify(text)} is not accepted; use a duration such as 10s`);
}

/** The first signal ends the replay with a report of the part before; the next one ends the process. */
function interrupted(): { readonly isInterrupted: boolean } {
  const state = { isInterrupted: false };
  void stopSignals.untilSignal().then(() => {
    state.isInterrupted = true;
  });
  return state;
}
