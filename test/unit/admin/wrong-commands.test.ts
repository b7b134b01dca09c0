/** Each wrong input of a command of the admin API gets a sentence that says what to write instead. */

import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { runControl } from '../../../src/program/cli/control/control-command';
import { UsageError } from '../../../src/program/cli/usage-error';
import { startAdminServer, TOKENS, type AdminHarness } from '../../support/admin/admin-server';
import { loadControlCommand } from '../../support/admin/control-command';

let server: AdminHarness;

beforeAll(async () => {
  server = await startAdminServer();
});

afterAll(async () => {
  expect(server.errors).toEqual([]);
  await server.close();
});

async function complaint(line: string, token = TOKENS.admin): Promise<string> {
  const tokenFile = join(dirname(server.tokensFile), 'token');
  writeFileSync(tokenFile, token);
  const [command = '', ...args] = line.split(' ');
  const error = jest.spyOn(console, 'error').mockImplementation();
  const log = jest.spyOn(console, 'log').mockImplementation();
  try {
    const code = await runControl(await loadControlCommand(command), {
      args: [...args, '--url', server.url, '--token-file', tokenFile],
      env: {},
    });
    return `${code}: ${error.mock.calls.flat().join('\n')}`;
  } catch (failure) {
    if (failure instanceof UsageError) return `2: ${failure.message}`;
    throw failure;
  } finally {
    error.mockRestore();
    log.mockRestore();
  }
}

const OVERRIDE = 'override set a --domain payments --limit 5/minute';

test.each<readonly [line: string, says: RegExp]>([
  ['tenant set m1 --domain payments --plan glod', /^1: .*no plan "glod"; use one of "basic", "gold", "enterprise", or give --ahead before/],
  ['tenant set m1 --domain paymants --plan gold', /^1: .*no domain "paymants"; use one of "payments"/],
  ['plan show glod --domain payments', /^1: .*there is no such plan; if it should exist, check the domain and the name$/],
  ['plan lst', /^2: .*did you mean .*list/],
  [`${OVERRIDE} --entries tenent=m1`, /^0: warning: no descriptor of the configuration has the key "tenent".*did you mean "tenant"\?$/],
  [`${OVERRIDE} --entries tenent=m1 --strict`, /^1: .*nothing was written, because of --strict: no descriptor .*did you mean "tenant"\?$/],
  [`${OVERRIDE} --entries =m1`, /^2: --entries: "=m1" has no key; write KEY=VALUE/],
  ['override set a --domain payments --entries tenant=m1 --limit 5/min', /^2: --limit: "5\/min" is not accepted; write 20\/minute/],
  [`${OVERRIDE} --entries tenant=m1 --until yesterday`, /^2: --until: "yesterday" is not accepted/],
  ['exceptions --kind overide', /^2: --kind: .*"overide".*override/],
  ['exceptions --state off', /^2: --state: .*"off".*in_force/],
  ['exceptions --count 0', /^2: --count: /],
  ['top most', /^2: .*asked/],
])('weir %s', async (line, says) => {
  expect(await complaint(line)).toMatch(says);
});

test('a role that may not write', async () => {
  expect(await complaint('plan delete gold --domain payments', TOKENS.support)).toMatch(/^1: .*refused with 403: .*role/);
});
