/** A tool whose installer breaks is missing, with the reason; other tools are prepared. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { runCommand } from '../../support/processes/command';

const folder = mkdtempSync(path.join(tmpdir(), 'weir-broken-'));

afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

interface Prepared {
  readonly missing?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** Prepares a module that a command in place of Go downloads, then the server of Redis. */
async function prepareWithGo(script: string): Promise<readonly Prepared[]> {
  writeFileSync(path.join(folder, 'go'), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  const source = `
    import { prepareTools } from './scripts/test/tools.mjs';
    const prepared = await prepareTools([{ name: 'some', quietS: 1, needs: ['envoyGatewayModule', 'redis'] }]);
    console.log(JSON.stringify([...prepared.values()]));`;
  const env = { PATH: `${folder}:${process.env.PATH ?? ''}`, WEIR_REDIS_SERVER: process.env.WEIR_REDIS_SERVER ?? '' };
  const { stdout } = await runCommand(process.execPath, ['--input-type=module', '-e', source], { env });
  return JSON.parse(stdout.trim().split('\n').at(-1)!) as readonly Prepared[];
}

test('an answer that no installer can read is the reason, and Redis is prepared', async () => {
  const [module, redis] = await prepareWithGo('echo "no module"');
  expect(module?.missing).toMatch(/^The preparation of envoyGatewayModule failed: SyntaxError: /);
  expect(redis?.env?.WEIR_REDIS_SERVER).toMatch(/^\/.*redis-server$/);
});

test('what Go says beside its answer is passed over', async () => {
  const [module] = await prepareWithGo('echo "go: switching to another version" >&2; echo \'{ "Dir": "/modules/gateway" }\'');
  expect(module).toEqual({ env: { WEIR_ENVOY_GATEWAY_MODULE: '/modules/gateway' } });
});
