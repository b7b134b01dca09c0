/** Writes `docs/settings.md` from the settings table. */

import { REFERENCE_SETTINGS, type ReferenceSetting } from './reference-settings';
import { GROUPS, SETTINGS_TABLE, type SettingRow } from './settings-table';

const HEAD = `# Settings

Weir is set up by environment variables. This page is made from the table in \`src/config/settings-table.ts\`
by \`node scripts/write-docs.mjs\` (after a build); a test compares the two.

- An empty variable counts as unset.
- A duration is written as in Go: \`5ms\`, \`10s\`, \`1h30m\`.
- A boolean is \`true\`, \`false\`, \`1\`, \`0\`, \`t\` or \`f\`; names are taken in any case.
- A bad value stops the start, with one line for each. The values of secret settings are never shown.
- A name that is much like one of these and is none is a warning at the start. \`weir settings\` shows it too, and every value in force.
- How to reach Redis, over TLS too, and with which rights: [redis.md](redis.md).
`;

const TABLE_HEAD = '| Variable | Accepts | Default | Meaning |\n|---|---|---|---|\n';

const REFERENCE_HEAD = `## Known from envoyproxy/ratelimit, without a use here

Weir says so at the start when one of these is set; where it would do something else than asked, it does not start.

| Variable | Refused | Instead |
|---|---|---|
`;

/** The whole page, ending with a newline. */
export function renderSettingsDoc(): string {
  const rows: readonly SettingRow[] = Object.values(SETTINGS_TABLE);
  const chapters = GROUPS.map((group) => {
    const lines = rows.filter((row) => row.group === group).map(renderRow);
    return `## ${group}\n\n${TABLE_HEAD}${lines.join('')}`;
  });
  return [HEAD, ...chapters, `${REFERENCE_HEAD}${REFERENCE_SETTINGS.map(renderReference).join('')}`].join('\n');
}

function renderRow({ name, type, meaning, secret, ...row }: SettingRow): string {
  const value = row.default === undefined ? 'unset' : row.default === '' ? 'empty' : `\`${row.default}\``;
  const note = secret ? ' Secret.' : '';
  return `| \`${name}\` | ${type.accepts} | ${value} | ${meaning}${note} |\n`;
}

function renderReference({ name, fine, refused, instead }: ReferenceSetting): string {
  const but = fine.length === 0 ? '' : `, but at ${fine.map((value) => `\`${value}\``).join(', ')}`;
  return `| \`${name}\` | ${refused ? `yes${but}` : 'no'} | ${instead} |\n`;
}
