/** The commands of the admin API have the operations of its routes, and their documented examples work. */

import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { ADMIN_ROUTES } from '../../src/administration/admin/routes/routes';
import { renderOperations } from '../../scripts/generate/docs/client-operations';
import { CONTROL_COMMANDS } from '../../src/program/cli/control/table/commands';
import { runControl } from '../../src/program/cli/control/control-command';
import { startAdminServer, TOKENS } from '../support/admin/admin-server';
import { loadControlCommand } from '../support/admin/control-command';
import { sourceFiles } from '../support/docs/source-files';

/** Routes that no command calls: `curl` is enough for them. */
const WITHOUT_COMMAND = [
  // `weir simulate` needs no server.
  'simulateRequest',
  'whoami',
  'listRules',
  'listSettings',
  'getLive',
  'listKeyHistory',
  'listRollouts',
  'listRuleHistory',
  'listInstanceHistory',
  'showDayOfKey',
  // Portals ask it.
  'getUsage',
  'openSession',
  'getSession',
  'endSession',
];

test('the operations of the client are what the routes make', () => {
  const FILE = 'src/administration/admin-client/operations.ts';
  if (readFileSync(FILE, 'utf8') === renderOperations(ADMIN_ROUTES)) return;
  throw new Error(`${FILE} is out of date; run node scripts/generate/docs.mjs`);
});

test('each route has its command, or is listed as one without', () => {
  const commands = sourceFiles().filter(({ name }) => name.startsWith('program/cli/control/'));
  const called = commands.flatMap(({ text }) => Array.from(text.matchAll(/admin\.(?:call|lines)\('(\w+)'/g), ([, id]) => id!));
  expect([...new Set([...called, ...WITHOUT_COMMAND])].sort()).toEqual(ADMIN_ROUTES.map(({ id }) => id).sort());
});

/** The commands of the page that call the admin API, in their order. */
function examples(): readonly string[][] {
  const page = readFileSync('docs/cli.md', 'utf8');
  const blocks = Array.from(page.matchAll(/^```sh\n(.*?)^```$/gms), ([, block]) => block!);
  return blocks
    .flatMap((block) => block.split('\n'))
    .map((line) => Array.from(line.matchAll(/"([^"]*)"|(\S+)/g), ([, quoted, bare]) => quoted ?? bare!))
    .filter(([weir, command]) => weir === 'weir' && CONTROL_COMMANDS.has(command ?? ''));
}

test('the examples succeed, and print what they changed', async () => {
  const server = await startAdminServer();
  const printed = jest.spyOn(console, 'log').mockImplementation();
  const complained = jest.spyOn(console, 'error').mockImplementation();
  try {
    const tokenFile = path.join(path.dirname(server.tokensFile), 'token');
    writeFileSync(tokenFile, `${TOKENS.admin}\n`);
    const tenants = path.join(path.dirname(tokenFile), 'tenants.csv');
    writeFileSync(tenants, 'tenant,plan\nmerchant_43,enterprise\n');
    const env = { WEIR_ADMIN_URL: server.url, WEIR_ADMIN_TOKEN_FILE: tokenFile };
    const codes: string[] = [];
    for (const [, name = '', ...words] of examples()) {
      const args = words.map((word) => (word === 'tenants.csv' ? tenants : word));
      // A tail lasts until it has samples.
      if (name === 'tail') continue;
      const code = await runControl(await loadControlCommand(name), { args, env });
      codes.push(`${name} ${args.join(' ')}: ${code}`);
    }
    expect(codes.length).toBeGreaterThan(20);
    expect(codes.filter((each) => !each.endsWith(': 0'))).toEqual([]);
    // The examples are of another configuration, so some have no effect on this one.
    expect(complained.mock.calls.flat().filter((line) => !String(line).startsWith('warning: '))).toEqual([]);
    const text = printed.mock.calls.flat().join('\n');
    for (const line of ['Override payments/merchant-42 created', 'Block payments/fraud-42 created', 'Dry run: Plan', 'merchant_42'])
      expect(text).toContain(line);
  } finally {
    printed.mockRestore();
    complained.mockRestore();
    await server.close();
  }
});
