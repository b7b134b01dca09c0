/** `weir simulate`: shows what a limit does to arrivals, in virtual time and without a server. */

import { readFile } from 'node:fs/promises';
import { text as readAll } from 'node:stream/consumers';
import { examineConfig } from '../../../configuration/compile/compile';
import type { Environment } from '../../../configuration/settings/table/settings';
import { toByteString } from '../../../domain/descriptor/byte-string';
import { US_PER_S } from '../../../lib/time-units';
import { readConfiguration } from '../configuration';
import { readArgs } from '../read-args';
import { readDescriptors } from '../read-descriptor';
import { readChoice, UsageError } from '../usage-error';
import { ARRIVALS_CHARS_MAX } from './arrivals';
import { limitTargets, readHits, runAll, type Target } from './read-simulation';
import type { Simulation } from './run-simulation';
import { simulationHtml, simulationSvg } from './simulation-svg';
import { simulationJson, simulationText } from './simulation-text';

export const SIMULATE_USAGE = `weir simulate (--limit N/UNIT [--algorithm NAME,NAME] [--capacity N] | --config FILE|DIR --domain DOMAIN --descriptor KEY=VALUE,KEY=VALUE …)
              [--rate N/UNIT | --poisson N/UNIT] [--for TIME] [--from TIME] [--burst N] [--at TIME …] [--arrivals FILE]
              [--retry none|honour|TIME] [--format text|json|csv|svg|html]

  --limit N/UNIT     a limit: 100/minute, 20/5second
  --algorithm NAME   algorithms to compare, with commas between them (default: all)
  --capacity N       hits that may come at once, of a token or leaky bucket (default: as for weir serve)
  --config FILE|DIR  a configuration in place of --limit
  --domain DOMAIN    domain of the request, with --config
  --descriptor KEY=VALUE,KEY=VALUE
                     entries of one descriptor of the request, with --config; may be repeated
  --rate N/UNIT      arrivals at a steady rate: 20/s, 90/minute
  --poisson N/UNIT   random arrivals at a mean rate
  --seed N           seed of the random arrivals (default 1)
  --for TIME         how long they come (default 1m)
  --from TIME        when they begin, after the start (default 0s)
  --burst N          requests at once, at each --at (default 1)
  --at TIME          a time after the start; may be repeated (default 0s with --burst)
  --arrivals FILE    a file with one time a line; - reads standard input
  --hits N           hits of each request (default 1)
  --start INSTANT    the start (default 2026-01-01T00:00:00Z)
  --retry            after a denial: none (default), honour: come when the answer says, or a fixed TIME
  --retries-max N    how often a client comes again at most (default 10)
  --format           text (default), json, csv, svg or html
  --columns N        parts of the time in pictures and tables (default 60)

Each algorithm begins with a full bucket. Times are written as 500ms, 1m30s or 2h.

Exit codes: 0 simulated, 1 the configuration does not load, 2 invalid arguments.`;

export const SIMULATE_OPTIONS = {
  limit: { type: 'string' },
  algorithm: { type: 'string' },
  capacity: { type: 'string' },
  config: { type: 'string' },
  domain: { type: 'string' },
  descriptor: { type: 'string', multiple: true },
  rate: { type: 'string' },
  poisson: { type: 'string' },
  seed: { type: 'string' },
  for: { type: 'string' },
  from: { type: 'string' },
  burst: { type: 'string' },
  at: { type: 'string', multiple: true },
  arrivals: { type: 'string' },
  hits: { type: 'string' },
  start: { type: 'string' },
  retry: { type: 'string' },
  'retries-max': { type: 'string' },
  format: { type: 'string' },
  columns: { type: 'string' },
} as const;

type Values = ReturnType<typeof readArgs<typeof SIMULATE_OPTIONS>>['values'];

const FORMATS = {
  text: simulationText,
  json: simulationJson,
  csv: simulationCsv,
  svg: simulationSvg,
  html: simulationHtml,
} as const;

/**
 * Resolves to the exit code.
 *
 * @throws UsageError or SettingsError; ConfigError for a configuration that does not load
 */
export async function simulate({ args, env }: { readonly args: readonly string[]; readonly env: Environment }): Promise<number> {
  const { values } = readArgs(args, { command: 'weir simulate', usage: SIMULATE_USAGE, options: SIMULATE_OPTIONS });
  const format = readChoice('--format', values.format, ['text', 'json', 'csv', 'svg', 'html']);
  const targets = await targetsOf(values, env);
  const arrivals = values.arrivals === undefined ? undefined : await readText(values.arrivals);
  process.stdout.write(FORMATS[format](await runAll(targets, { ...values, arrivals })));
  return 0;
}

async function targetsOf(values: Values, env: Environment): Promise<readonly Target[]> {
  if ((values.limit === undefined) === (values.config === undefined))
    throw new UsageError('weir simulate: give either --limit, or --config with --domain and --descriptor');
  if (values.limit !== undefined) {
    for (const option of ['domain', 'descriptor'] as const)
      if (values[option] !== undefined) throw new UsageError(`--${option} belongs to --config; remove it`);
    return limitTargets(values.limit, values);
  }
  for (const option of ['algorithm', 'capacity'] as const)
    if (values[option] !== undefined) throw new UsageError(`--${option} belongs to --limit; with --config the configuration says it`);
  const { domain = '', descriptor = [] } = values;
  if (domain === '') throw new UsageError('--domain is missing; give the domain of the request');
  const { settings, options } = await readConfiguration({ path: values.config, env, mergesDomains: false });
  const { ruleSet, list } = examineConfig(options);
  list.throwIfAny();
  const descriptors = readDescriptors('--descriptor', descriptor).map((entries) => ({ entries }));
  const modes = { shadow: settings.shadowMode, quota: settings.quotaMode };
  return [{ name: domain, ruleSet, modes, request: { domain: toByteString(domain), descriptors, hits: readHits(values.hits) } }];
}

async function readText(file: string): Promise<string> {
  try {
    const text = file === '-' ? await readAll(process.stdin) : await readFile(file, 'utf8');
    if (text.length <= ARRIVALS_CHARS_MAX) return text;
  } catch (error) {
    throw new UsageError(`--arrivals: ${error instanceof Error ? error.message : String(error)}`);
  }
  throw new UsageError(`--arrivals: the file has more than ${ARRIVALS_CHARS_MAX} characters; simulate a part of it`);
}

/** One row for each column of each simulation. */
function simulationCsv(simulations: readonly Simulation[]): string {
  const rows = simulations.flatMap(({ name, columns }) =>
    columns.map(({ fromUs, admitted, denied, left }) => [csvText(name), fromUs / US_PER_S, admitted, denied, left ?? ''].join(',')),
  );
  return `${['name,from_seconds,admitted,denied,left', ...rows].join('\n')}\n`;
}

function csvText(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
