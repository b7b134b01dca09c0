/** The page of the command line and the code agree, in both directions: commands, flags, rules of warnings. */

import { readFileSync } from 'node:fs';
import { ASK_OPTIONS, ASK_USAGE } from '../../src/cli/ask';
import { CHECK_OPTIONS, CHECK_USAGE } from '../../src/cli/check';
import { EXPLAIN_OPTIONS, EXPLAIN_USAGE } from '../../src/cli/explain';
import { RESERVE_OPTIONS, RESERVE_USAGE } from '../../src/cli/reserve';
import { REFERENCE_CLIENT_FLAGS } from '../../src/cli/reference-client';
import { REFERENCE_CONFIG_CHECK_FLAGS } from '../../src/cli/reference-config-check';
import { SERVE_USAGE } from '../../src/cli/serve';
import { SETTINGS_OPTIONS, SETTINGS_USAGE } from '../../src/cli/show-settings';
import { WARNING_RULES } from '../../src/config/warning-rules';
import { tableRows } from '../support/markdown';

const PAGE = 'docs/cli.md';
const page = readFileSync(PAGE, 'utf8');

/** What stands under a heading, or after a bold word, up to the next. */
function sectionOf(start: string): string {
  const [, section] = page.split(start);
  if (section === undefined) throw new Error(`${PAGE} has no ${start}`);
  return section.split(/^(?:## |\*\*)/m)[0]!;
}

/** The flags that the first cells of a section's tables name. */
function documentedFlags(section: string, dashes: '-' | '--'): string[] {
  const cells = section.split('\n').filter((line) => line.startsWith('| `-')).map((line) => line.split(' | ')[0]!);
  return cells.flatMap((cell) => Array.from(cell.matchAll(new RegExp(`\`${dashes}([a-z][\\w-]*)`, 'g')), ([, flag]) => flag!));
}

function usageFlags(usage: string): string[] {
  return [...new Set(Array.from(usage.matchAll(/(?<![\w-])--([a-z-]+)/g), ([, flag]) => flag!))];
}

const COMMANDS = [
  { command: 'serve', options: ['config'], usage: SERVE_USAGE },
  { command: 'check', options: Object.keys(CHECK_OPTIONS), usage: CHECK_USAGE },
  { command: 'explain', options: Object.keys(EXPLAIN_OPTIONS), usage: EXPLAIN_USAGE },
  { command: 'settings', options: Object.keys(SETTINGS_OPTIONS), usage: SETTINGS_USAGE },
  { command: 'ask', options: Object.keys(ASK_OPTIONS), usage: ASK_USAGE },
  { command: 'reserve', options: Object.keys(RESERVE_OPTIONS), usage: RESERVE_USAGE },
];

test('each command has its section, and no other has one', () => {
  const sections = Array.from(page.matchAll(/^## weir (\w+)$/gm), ([, command]) => command);
  expect(sections).toEqual(COMMANDS.map(({ command }) => command));
  const cases = Array.from(readFileSync('src/main.ts', 'utf8').matchAll(/case '(\w+)'/g), ([, command]) => command);
  expect(cases).toEqual([...sections, 'ratelimit_client', 'ratelimit_config_check', 'version', 'help']);
});

test.each(COMMANDS)('weir $command: every flag of the code is on the page and in the help, and no other', ({ command, options, usage }) => {
  expect(documentedFlags(sectionOf(`## weir ${command}\n`), '--').sort()).toEqual([...options].sort());
  expect(usageFlags(usage).sort()).toEqual([...options].sort());
});

test.each([
  ['/bin/ratelimit_client', REFERENCE_CLIENT_FLAGS],
  ['/bin/ratelimit_config_check', REFERENCE_CONFIG_CHECK_FLAGS],
])('%s: every flag of the code is on the page, and no other', (command, flags) => {
  expect(documentedFlags(sectionOf(`**\`${command}\`**`), '-').sort()).toEqual(Object.keys(flags).sort());
});

test('every rule of warnings is on the page as the code describes it, and no other', () => {
  const rows = tableRows(PAGE).filter(([rule]) => /^`[a-z][a-z-]+`$/.test(rule!));
  expect(Object.fromEntries(rows.map(([rule, what]) => [rule!.replaceAll('`', ''), what]))).toEqual(WARNING_RULES);
});
