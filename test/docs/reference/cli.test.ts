/** The page of the command line lists exactly the commands, flags and lint rules that exist. */

import { readFileSync } from 'node:fs';
import { ASK_OPTIONS, ASK_USAGE } from '../../../src/program/cli/ask';
import { CHECK_OPTIONS, CHECK_USAGE } from '../../../src/program/cli/check';
import { COMPLETION_USAGE } from '../../../src/program/cli/completion/completion';
import { CONTROL_COMMANDS } from '../../../src/program/cli/control/table/commands';
import { optionsOf, usageOf } from '../../../src/program/cli/control/control-command';
import { EXPLAIN_OPTIONS, EXPLAIN_USAGE } from '../../../src/program/cli/explain/explain';
import { REPLAY_OPTIONS, REPLAY_USAGE } from '../../../src/program/cli/replay/replay';
import { RESERVE_OPTIONS, RESERVE_USAGE } from '../../../src/program/cli/reserve';
import { REFERENCE_CLIENT_FLAGS } from '../../../src/program/cli/reference/reference-client';
import { REFERENCE_CONFIG_CHECK_FLAGS } from '../../../src/program/cli/reference/reference-config-check';
import { SERVE_USAGE } from '../../../src/program/cli/serve';
import { SCHEMA_OPTIONS, SCHEMA_USAGE } from '../../../src/program/cli/show-schema';
import { SETTINGS_OPTIONS, SETTINGS_USAGE } from '../../../src/program/cli/show-settings';
import { DIFF_OPTIONS, DIFF_USAGE } from '../../../src/program/cli/diff/diff';
import { SIMULATE_OPTIONS, SIMULATE_USAGE } from '../../../src/program/cli/simulate/simulate';
import { TEST_OPTIONS, TEST_USAGE } from '../../../src/program/cli/test/test';
import { WARNING_RULES } from '../../../src/configuration/problems/warning-rules';
import { loadControlCommand } from '../../support/admin/control-command';
import { tableRows } from '../../support/docs/markdown';

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
  const cells = section
    .split('\n')
    .filter((line) => line.startsWith('| `-'))
    .map((line) => line.split(' | ')[0]!);
  return cells.flatMap((cell) => Array.from(cell.matchAll(new RegExp(`\`${dashes}([a-z][\\w-]*)`, 'g')), ([, flag]) => flag!));
}

function usageFlags(usage: string): string[] {
  return [...new Set(Array.from(usage.matchAll(/(?<![\w-])--([a-z-]+)/g), ([, flag]) => flag!))];
}

/** The commands that have a table of options in the code. */
const TABLED = [...CONTROL_COMMANDS.keys()];

const COMMANDS = [
  { command: 'serve', options: ['config', 'or-example'], usage: SERVE_USAGE },
  { command: 'check', options: Object.keys(CHECK_OPTIONS), usage: CHECK_USAGE },
  { command: 'explain', options: Object.keys(EXPLAIN_OPTIONS), usage: EXPLAIN_USAGE },
  { command: 'test', options: Object.keys(TEST_OPTIONS), usage: TEST_USAGE },
  { command: 'diff', options: Object.keys(DIFF_OPTIONS), usage: DIFF_USAGE },
  { command: 'simulate', options: Object.keys(SIMULATE_OPTIONS), usage: SIMULATE_USAGE },
  { command: 'replay', options: Object.keys(REPLAY_OPTIONS), usage: REPLAY_USAGE },
  { command: 'settings', options: Object.keys(SETTINGS_OPTIONS), usage: SETTINGS_USAGE },
  { command: 'schema', options: Object.keys(SCHEMA_OPTIONS), usage: SCHEMA_USAGE },
  { command: 'ask', options: Object.keys(ASK_OPTIONS), usage: ASK_USAGE },
  { command: 'reserve', options: Object.keys(RESERVE_OPTIONS), usage: RESERVE_USAGE },
];

test('the page has exactly one section for each command', () => {
  const sections = Array.from(page.matchAll(/^## weir (\w+)$/gm), ([, command]) => command);
  expect(sections).toEqual([...COMMANDS.map(({ command }) => command), ...TABLED, 'completion']);
  const main = readFileSync('src/main.ts', 'utf8');
  const commands = Array.from(main.matchAll(/^ {4}(\w+): \{\s*purpose:/gm), ([, command]) => command);
  expect([...commands.slice(0, -1), ...TABLED, ...commands.slice(-1)]).toEqual(sections);
  const cases = Array.from(main.matchAll(/case '(\w+)'/g), ([, command]) => command);
  expect(cases).toEqual(['ratelimit_client', 'ratelimit_config_check', 'version', 'help']);
});

test.each(COMMANDS)('weir $command: the page and the help have exactly the flags of the code', ({ command, options, usage }) => {
  expect(documentedFlags(sectionOf(`## weir ${command}\n`), '--').sort()).toEqual([...options].sort());
  expect(usageFlags(usage).sort()).toEqual([...options].sort());
});

test.each(TABLED)('weir %s: the page and the help have exactly the flags of the code, in their form', async (name) => {
  const command = await loadControlCommand(name);
  expect(command.name).toBe(name);
  const own = [...new Set(command.actions.flatMap(({ options }) => Object.keys(options)))];
  const section = sectionOf(`## weir ${name}\n`);
  expect(documentedFlags(section, '--').sort()).toEqual(own.sort());
  const common = Object.keys(optionsOf({ ...command.actions[0]!, options: {} }));
  expect(documentedFlags(sectionOf('## Commands of the admin API\n'), '--').sort()).toEqual(common.sort());
  expect(usageFlags(usageOf(command)).sort()).toEqual([...own, ...common].sort());
  for (const { name: action } of command.actions) if (action !== '') expect(section).toMatch(new RegExp(`\`${action}\\b`));
});

test('weir completion has no flags', () => {
  expect(documentedFlags(sectionOf('## weir completion\n'), '--')).toEqual([]);
  expect(usageFlags(COMPLETION_USAGE)).toEqual([]);
});

test.each([
  ['/bin/ratelimit_client', REFERENCE_CLIENT_FLAGS],
  ['/bin/ratelimit_config_check', REFERENCE_CONFIG_CHECK_FLAGS],
])('%s: the page has exactly the flags of the code', (command, flags) => {
  expect(documentedFlags(sectionOf(`**\`${command}\`**`), '-').sort()).toEqual(Object.keys(flags).sort());
});

test('the page lists exactly the lint rules of the code, with their descriptions', () => {
  const rows = tableRows(PAGE).filter(([rule]) => /^`[a-z][a-z-]+`$/.test(rule!));
  expect(Object.fromEntries(rows.map(([rule, what]) => [rule!.replaceAll('`', ''), what]))).toEqual(WARNING_RULES);
});
