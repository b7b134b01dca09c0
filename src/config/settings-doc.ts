/** Writes `docs/settings.md` from the settings table. */

import { GROUPS, SETTINGS_TABLE, type SettingRow } from './settings-table';

const HEAD = `# Settings

Weir is set up by environment variables. This page is made from the table in \`src/config/settings-table.ts\`
by \`node scripts/write-settings-doc.mjs\` (after a build); a test compares the two.

- An empty variable counts as unset.
- A duration is written as in Go: \`5ms\`, \`10s\`, \`1h30m\`.
- A boolean is \`true\`, \`false\`, \`1\`, \`0\`, \`t\` or \`f\`; names are taken in any case.
- A bad value stops the start, with one line for each. The values of secret settings are never shown.
`;

const TABLE_HEAD = '| Variable | Accepts | Default | Meaning |\n|---|---|---|---|\n';

/** The whole page, ending with a newline. */
export function renderSettingsDoc(): string {
  const rows: readonly SettingRow[] = Object.values(SETTINGS_TABLE);
  const chapters = GROUPS.map((group) => {
    const lines = rows.filter((row) => row.group === group).map(renderRow);
    return `## ${group}\n\n${TABLE_HEAD}${lines.join('')}`;
  });
  return [HEAD, ...chapters].join('\n');
}

function renderRow({ name, type, meaning, secret, ...row }: SettingRow): string {
  const value = row.default === undefined ? 'unset' : row.default === '' ? 'empty' : `\`${row.default}\``;
  const note = secret ? ' Secret.' : '';
  return `| \`${name}\` | ${type.accepts} | ${value} | ${meaning}${note} |\n`;
}
