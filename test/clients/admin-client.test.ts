/** A Python client generated from the OpenAPI document reads and writes over the admin API, and gets problems as typed errors. */

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { callAdmin } from '../support/admin/admin-client';
import { startAdminServer, TOKENS, type AdminHarness } from '../support/admin/admin-server';
import { runCommand } from '../support/processes/command';
import { pipe } from './foreign-client';
import { installed } from '../support/processes/installed';

const CLIENT = path.join(__dirname, 'python', 'admin_client.py');
const EXAMPLE = path.resolve(__dirname, '..', '..', 'deploy', 'tenants', 'payments.yaml');
const GENERATED_WITHIN_MS = 90_000;

/** The stream of lines of the audit log: the generator knows no type for it, and leaves it out. */
const WITHOUT_TYPE = 'GET /v1/audit/export';

let server: AdminHarness;
let folder: string;
let packages: string;

beforeAll(async () => {
  server = await startAdminServer({ yaml: readFileSync(EXAMPLE, 'utf8') });
  folder = mkdtempSync(path.join(tmpdir(), 'weir-admin-client-'));
  packages = installed('WEIR_OPENAPI_PYTHON_CLIENT', 'install/openapi-python-client.mjs');
}, GENERATED_WITHIN_MS);

afterAll(async () => {
  await server.close();
  rmSync(folder, { recursive: true });
});

test('the generator understands the whole document', async () => {
  const { body } = await callAdmin(server.url, { path: '/v1/openapi.json', token: TOKENS.viewer });
  const [document, settings] = [path.join(folder, 'openapi.json'), path.join(folder, 'settings.yaml')];
  writeFileSync(document, body);
  // Without the tools that format what was generated.
  writeFileSync(settings, 'post_hooks: []\n');
  const client = path.join(folder, 'weir_admin');
  const { exitCode, stderr } = await runCommand(
    'python3',
    ['-m', 'openapi_python_client', 'generate', '--path', document, '--config', settings, '--meta', 'none', '--output-path', client],
    { env: { PYTHONPATH: packages } },
  );
  expect(exitCode).toBe(0);
  expect(Array.from(stderr.matchAll(/^(?:WARNING|ERROR) parsing (.*) within/gm), ([, operation]) => operation)).toEqual([WITHOUT_TYPE]);
});

test('the generated client writes, reads back, and gets problems as typed errors', async () => {
  const work = JSON.stringify({ url: server.url, tokens: TOKENS });
  const env = { PYTHONPATH: [packages, folder].join(path.delimiter), PYTHONDONTWRITEBYTECODE: '1' };
  const answers = JSON.parse(await pipe({ command: 'python3', args: [CLIENT], env }, work)) as Record<string, unknown>;
  const problem = (name: string, status: number, errors: readonly string[] = []) => ({
    class: 'Problem',
    status,
    type: `urn:weir:problem:${name}`,
    errors,
  });
  expect(answers).toEqual({
    role: 'support',
    read: { tenant: 'müller & söhne/42', plan: 'enterprise', until: '2100-01-01T00:00:00+00:00', author: 'support-1' },
    'versions grow': true,
    before: 'enterprise',
    outcomes: {
      create: { class: 'PutTenantResponse200', status: 200 },
      replace: { class: 'PutTenantResponse200', status: 200 },
      late: problem('precondition-failed', 412),
      'create only': problem('precondition-failed', 412),
      viewer: problem('forbidden', 403),
      'plan by support': problem('forbidden', 403),
      stranger: problem('unauthenticated', 401),
      nobody: problem('not-found', 404),
      'other domain': problem('conflict', 409),
      invalid: problem('invalid', 400, ['body/entries']),
      'dry run': { class: 'PutBlockResponse200', status: 200 },
      block: { class: 'PutBlockResponse200', status: 200 },
      lifted: { class: 'DeleteBlockResponse200', status: 200 },
    },
    explained: { over_limit: true, 'by a block': true },
    remaining: [100],
    repeated: [false, true],
    listed: ['müller & söhne/42'],
  });
  expect(server.errors).toEqual([]);
});
