/** `weir settings`: lists every setting with its value in this environment and its source. */

import { problemsOfStart } from '../app/start/read-start';
import type { Environment } from '../../configuration/settings/table/settings';
import type { SettingProblem } from '../../configuration/settings/table/settings-error';
import { settingsInForce, type SettingInForce, type SettingsInForce } from '../../configuration/settings/settings-in-force';
import { GROUPS } from '../../configuration/settings/table/setting-row';
import type { ProbedRedis } from '../app/deciding/probe-redis';
import { readArgs } from './read-args';
import { readChoice } from './usage-error';

export const SETTINGS_USAGE = `weir settings [--changed] [--probe] [--format text|json]

  --changed  show only what the environment sets
  --probe    also connect to each Redis, and show what Weir finds there
  --format   text (default) or json

Secrets are hidden. Exits with 1 if weir serve would not start with these settings, or cannot use a Redis that --probe asks.`;

export const SETTINGS_OPTIONS = {
  changed: { type: 'boolean' },
  probe: { type: 'boolean' },
  format: { type: 'string' },
} as const;

interface Shown extends SettingsInForce {
  /** Reasons why Weir would not start with this environment. */
  readonly problems: readonly SettingProblem[];
  /** Absent: nobody asked for it. */
  readonly probed?: readonly ProbedRedis[];
}

/**
 * Resolves to the exit code.
 *
 * @throws UsageError
 */
export async function showSettings({ args, env }: { readonly args: readonly string[]; readonly env: Environment }): Promise<number> {
  const { values } = readArgs(args, { command: 'weir settings', usage: SETTINGS_USAGE, options: SETTINGS_OPTIONS });
  const format = readChoice('--format', values.format, ['text', 'json']);
  const all = settingsInForce(env);
  const settings = all.settings.filter(({ source }) => values.changed !== true || source === 'environment');
  const problems = await problemsOfStart(env);
  const probed = values.probe === true && problems.length === 0 ? await probe(env) : undefined;
  const shown = { ...all, settings, problems, ...(probed && { probed }) };
  process.stdout.write(format === 'json' ? formatJson(shown) : formatText(shown));
  return problems.length > 0 || probed?.some(({ engine }) => engine === undefined) === true ? 1 : 0;
}

/** Loaded only here: the client of Redis costs a command that prints settings 100 ms. */
async function probe(env: Environment): Promise<readonly ProbedRedis[]> {
  const { probeRedis } = await import('../app/deciding/probe-redis.js');
  return probeRedis(env);
}

/** Writes an unset setting as null, because JSON omits undefined. */
function formatJson({ settings, ...rest }: Shown): string {
  return `${JSON.stringify({ settings: settings.map((setting) => ({ ...setting, value: setting.value ?? null })), ...rest }, null, 2)}\n`;
}

function formatText({ settings, reference, unknown, problems, probed = [] }: Shown): string {
  const nameWidth = widthOf(settings.map(({ name }) => name));
  const valueWidth = widthOf(settings.map(shownValue));
  const line = (setting: SettingInForce) =>
    `  ${setting.name.padEnd(nameWidth)}  ${shownValue(setting).padEnd(valueWidth)}  ${setting.source}`;
  const blocks = GROUPS.map((group): Block => ({ title: group, lines: settings.filter((each) => each.group === group).map(line) }));
  blocks.push(
    {
      title: 'Settings of envoyproxy/ratelimit that Weir does not use',
      lines: reference.map(({ name, refused, instead }) => `  ${name}: ${refused ? 'refused' : 'ignored'}. ${instead}`),
    },
    {
      title: 'Unknown',
      lines: unknown.map(({ name, meant, write }) => `  ${name}: ${write === undefined ? `did you mean ${meant}?` : `set ${write}`}`),
    },
    { title: 'Redis', lines: probed.flatMap(probedLines) },
    { title: 'Invalid: Weir would not start', lines: problems.map(({ name, message }) => `  ${name}: ${message}`) },
  );
  return blocks
    .filter(({ lines }) => lines.length > 0)
    .map(({ title, lines }) => `${title}\n${lines.join('\n')}\n`)
    .join('\n');
}

function probedLines({ address, engine, cause, isClusterNode, writeMs, policy }: ProbedRedis): readonly string[] {
  if (engine === undefined) return [`  ${address}: cannot be used: ${cause ?? 'no cause known'}`];
  const slots = engine.separatesSlots ? 'refused: Weir sends each slot apart' : 'accepted';
  return [
    `  ${address}: ${[engine.name, engine.version].filter((word) => word !== '').join(' ')}`,
    ...(isClusterNode ? [] : [`    scripts with keys of several slots: ${slots}`]),
    ...(writeMs === undefined ? [] : [`    a write takes ${writeMs.toFixed(1)} ms longer than an answer`]),
    `    maxmemory-policy: ${policy ?? 'not shown'}`,
  ];
}

interface Block {
  readonly title: string;
  readonly lines: readonly string[];
}

/** Longer values do not widen the column. */
const WIDTH_MAX = 40;

function widthOf(texts: readonly string[]): number {
  return Math.max(0, ...texts.map(({ length }) => length).filter((length) => length <= WIDTH_MAX));
}

function shownValue({ value }: SettingInForce): string {
  if (value === undefined) return '(unset)';
  return value === '' ? '(empty)' : value;
}
