/** `weir settings`: every setting with the value in force here, and where that comes from. */

import { parseArgs } from 'node:util';
import type { Environment } from '../config/settings';
import { settingsInForce, type SettingInForce, type SettingsInForce } from '../config/settings-in-force';
import { GROUPS } from '../config/settings-table';
import { readChoice } from './usage-error';

export const SETTINGS_USAGE = `weir settings [--changed] [--format text|json]

  --changed  only what the environment sets
  --format   text (default) or json

Secrets are not shown. Exits with 1 if weir serve would not start with these.`;

export const SETTINGS_OPTIONS = {
  changed: { type: 'boolean' },
  format: { type: 'string' },
} as const;

/**
 * Resolves with the exit code.
 *
 * @throws UsageError
 */
export function showSettings({ args, env }: { readonly args: readonly string[]; readonly env: Environment }): number {
  const { values } = parseArgs({ args: [...args], options: SETTINGS_OPTIONS });
  const format = readChoice('--format', values.format, ['text', 'json']);
  const all = settingsInForce(env);
  const settings = all.settings.filter(({ source }) => values.changed !== true || source === 'environment');
  const shown = { ...all, settings };
  process.stdout.write(format === 'json' ? formatJson(shown) : formatText(shown));
  return all.problems.length > 0 ? 1 : 0;
}

/** A setting that is unset is null: JSON leaves out what is undefined. */
function formatJson({ settings, ...rest }: SettingsInForce): string {
  return `${JSON.stringify({ settings: settings.map((setting) => ({ ...setting, value: setting.value ?? null })), ...rest }, null, 2)}\n`;
}

function formatText({ settings, reference, unknown, problems }: SettingsInForce): string {
  const nameWidth = widthOf(settings.map(({ name }) => name));
  const valueWidth = widthOf(settings.map(shownValue));
  const line = (setting: SettingInForce) => `  ${setting.name.padEnd(nameWidth)}  ${shownValue(setting).padEnd(valueWidth)}  ${setting.source}`;
  const blocks = GROUPS.map((group): Block => ({ title: group, lines: settings.filter((each) => each.group === group).map(line) }));
  blocks.push(
    { title: 'Known from envoyproxy/ratelimit, without a use here', lines: reference.map(({ name, refused, instead }) => `  ${name}: ${refused ? 'refused' : 'ignored'}. ${instead}`) },
    { title: 'Not known', lines: unknown.map(({ name, meant }) => `  ${name}: did you mean ${meant}?`) },
    { title: 'Weir would not start', lines: problems.map(({ name, message }) => `  ${name}: ${message}`) },
  );
  return blocks.filter(({ lines }) => lines.length > 0).map(({ title, lines }) => `${title}\n${lines.join('\n')}\n`).join('\n');
}

interface Block {
  readonly title: string;
  readonly lines: readonly string[];
}

/** Values longer than this do not widen the column. */
const WIDTH_MAX = 40;

function widthOf(texts: readonly string[]): number {
  return Math.max(0, ...texts.map(({ length }) => length).filter((length) => length <= WIDTH_MAX));
}

function shownValue({ value }: SettingInForce): string {
  if (value === undefined) return '(unset)';
  return value === '' ? '(empty)' : value;
}
