/** Writes `docs/settings.md` from the settings table. */

import { REFERENCE_SETTINGS, type ReferenceSetting } from '../../../src/configuration/settings/table/reference-settings';
import { GROUPS, type SettingRow } from '../../../src/configuration/settings/table/setting-row';
import { SETTINGS_TABLE } from '../../../src/configuration/settings/table/settings-table';

const HEAD = `# Settings

Environment variables of Weir, generated from \`src/configuration/settings/table/settings-table.ts\` by \`node scripts/generate/docs.mjs\`.
\`weir settings\` shows all values in force.

- An empty variable is unset. A setting without a default is unset by default.
- Durations are written as in Go: \`5ms\`, \`10s\`, \`1h30m\`. Booleans are \`true\`, \`false\`, \`1\`, \`0\`, \`t\` or \`f\`. Names of values are case-insensitive.
- In a row with two settings, \`REDIS_PERSECOND_*\` is for the Redis of limits of one second, and \`OTEL_EXPORTER_OTLP_TRACES_*\` wins over the other one.
- An invalid value stops the start, with one line for each; a name that looks misspelled is a warning. Values of secret settings are never shown.
- Private keys must have no passphrase. Files and directories are given by their paths.
- [redis.md](redis.md) explains connections, TLS and permissions of Redis. \`SSL_CERT_FILE\`, \`SSL_CERT_DIR\`, \`NODE_EXTRA_CA_CERTS\` and \`GRPC_DEFAULT_SSL_ROOTS_FILE_PATH\` choose the trusted CAs where no setting does ([redis.md](redis.md#tls)).
`;

const TABLE_HEAD = '| Variable | Accepts | Default | Meaning |\n|---|---|---|---|\n';

const REFERENCE_HEAD = `## Settings of envoyproxy/ratelimit that Weir does not use

Weir logs a line at the start when one of these is set. Those in bold stop it, because ignoring them would change what was asked for.

| Variable | Instead |
|---|---|
`;

/** The whole page, ending with a newline. */
export function renderSettingsDoc(): string {
  const all: readonly SettingRow[] = Object.values(SETTINGS_TABLE);
  const rows = all.filter((row) => twinnedOf(row) === undefined);
  const namesOf = ({ name }: SettingRow): string[] => [name, ...all.filter((row) => twinnedOf(row) === name).map((twin) => twin.name)];
  const chapters = GROUPS.map((group) => {
    const lines = rows.filter((row) => row.group === group).map((row) => renderRow(row, namesOf(row)));
    return `## ${group}\n\n${TABLE_HEAD}${lines.join('')}`;
  });
  return [HEAD, ...chapters, `${REFERENCE_HEAD}${renderReferences()}`].join('\n');
}

/** The setting in whose row this one stands, because its meaning says nothing else. */
function twinnedOf({ meaning }: SettingRow): string | undefined {
  const [, before, after] = /^(?:Wins over (\w+)|(\w+) of the Redis for limits of one second)\.$/.exec(meaning) ?? [];
  return before ?? after;
}

function renderRow({ type, meaning, secret, ...row }: SettingRow, names: readonly string[]): string {
  const value = row.default === undefined || row.default === '' ? '' : `\`${row.default}\` `;
  const note = secret ? ' Secret.' : '';
  return `| ${names.map((name) => `\`${name}\``).join(', ')} | ${shortened(type.accepts)} | ${value}| ${meaning}${note} |\n`;
}

/** Shortens the common forms, which the head of the page explains. */
function shortened(accepts: string): string {
  return accepts
    .replace(/^a duration from (\S+) to ([^,]+),.*$/, '$1–$2')
    .replace(/^a whole number from (\S+) to (\S+)$/, '$1–$2')
    .replace(/^a number from (\S+) to (\S+)$/, 'number $1–$2')
    .replace(/^a port from (\d+) to (\d+)/, 'port $1–$2')
    .replace(/^true or false$/, 'boolean')
    .replace(/^(?:the path of )?an? (?=PEM file$|file$|port from)/, '')
    .replace(/^(?:the name of )?an? (?=header$|domain$|claim$|address$|directory$|name$|DNS name$|URL\b|password\b)/, '');
}

/** One row for all settings with the same answer. */
function renderReferences(): string {
  const namesByAnswer = new Map<string, string[]>();
  for (const setting of REFERENCE_SETTINGS) {
    const answer = renderAnswer(setting);
    const name = setting.refused ? `**\`${setting.name}\`**` : `\`${setting.name}\``;
    namesByAnswer.set(answer, [...(namesByAnswer.get(answer) ?? []), name]);
  }
  return Array.from(namesByAnswer, ([answer, names]) => `| ${names.join(', ')} | ${answer} |\n`).join('');
}

function renderAnswer({ fine, refused, instead }: ReferenceSetting): string {
  const except = refused && fine.length > 0 ? ` Values that do not stop it: ${fine.map((value) => `\`${value}\``).join(', ')}.` : '';
  return `${instead}${except}`;
}
