/** The Python example of docs/libraries.md limits an ASGI application, and counts requests that passed without a decision. */

import { mkdirSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { until } from '../support/clock/until';
import { httpRequest } from '../support/clients/http-client';
import { writeConfig } from '../support/config/temp-config';
import { fencedBlocks } from '../support/docs/markdown';
import { startChild, type Child } from '../support/processes/child-process';
import { runCommand } from '../support/processes/command';
import { installed } from '../support/processes/installed';
import { startWeir, type WeirProcess } from '../support/processes/weir-process';
import { freePort } from '../support/servers/ports';

const PAGE = 'docs/libraries.md';
const CONFIG = fencedBlocks(PAGE, 'yaml').find((block) => block.startsWith('# limits.yaml'))!;

let packages: string;
let stubs: string;
let weir: WeirProcess;

beforeAll(async () => {
  packages = installed('WEIR_ASGI', 'install/asgi.mjs');
  const folder = mkdtempSync(path.join(tmpdir(), 'weir-python-'));
  stubs = path.join(folder, 'stubs');
  mkdirSync(stubs);
  const [, command] = /^(python3 -m grpc_tools[^]*?[^\\])$/m.exec(fencedBlocks(PAGE, 'sh').find((block) => block.includes('grpc_tools'))!)!;
  const { exitCode, stderr } = await runCommand('sh', ['-c', command!.replaceAll('=stubs', `=${stubs}`)], {
    env: { PYTHONPATH: packages },
  });
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  weir = await startWeir({ config: writeConfig(CONFIG), env: { BACKEND_TYPE: 'memory' } });
}, 300_000);

afterAll(() => weir.stop());

async function serve(env: Readonly<Record<string, string>>): Promise<{ readonly url: string; readonly child: Child }> {
  const port = await freePort();
  const child = startChild({
    command: 'python3',
    args: ['-m', 'uvicorn', 'app:app', '--host', '127.0.0.1', '--port', String(port), '--no-access-log'],
    env: { PYTHONPATH: [stubs, 'deploy/python', packages].join(':'), PYTHONDONTWRITEBYTECODE: '1', ...env },
  });
  await until(() => child.output().includes('Uvicorn running') || !child.isRunning());
  if (!child.isRunning()) throw new Error(child.output());
  return { url: `http://127.0.0.1:${port}/`, child };
}

test('requests pass with the headers of Weir until the limit, and then get 429', async () => {
  const { url, child } = await serve({ WEIR_ADDRESS: `127.0.0.1:${weir.grpcPort}`, WEIR_TIMEOUT_S: '20', WEIR_FAIL_OPEN: 'false' });
  for (const left of [2, 1, 0]) {
    const { status, headers, body } = await httpRequest(url);
    expect({ status, body }).toEqual({ status: 200, body: 'hello\n' });
    expect(headers.ratelimit).toContain(`;r=${left};`);
  }
  const denied = await httpRequest(url);
  expect(denied.status).toBe(429);
  expect(denied.headers['content-type']).toBe('application/problem+json');
  expect(denied.headers['retry-after']).toMatch(/^(?:20|1\d)$/);
  expect(JSON.parse(denied.body)).toEqual({ type: 'about:blank', title: 'Too Many Requests', status: 429 });
  expect(await httpRequest(url, { method: 'HEAD' })).toMatchObject({ status: 429, body: '' });
  await child.stop();
  expect(child.output()).toContain('Application shutdown complete');
});

test('without Weir the application starts, and requests pass or get 503 as it is set', async () => {
  const [open, closed] = await Promise.all(
    ['true', 'false'].map((failOpen) => serve({ WEIR_ADDRESS: '127.0.0.1:1', WEIR_FAIL_OPEN: failOpen })),
  );
  expect((await httpRequest(open!.url)).status).toBe(200);
  expect((await httpRequest(closed!.url)).status).toBe(503);
  // uvicorn shows what no handler takes.
  await until(() => open!.child.output().includes('1 request passed without a decision of Weir at 127.0.0.1:1. Last reason: UNAVAILABLE'));
  await until(() => closed!.child.output().includes('1 request got 503 without a decision of Weir'));
  await Promise.all([open!.child.stop(), closed!.child.stop()]);
});

/** Requests at times of a clock that the program sets, and what the middleware says of them. */
const FAILURES = `
import asyncio, logging
from weir_asgi import RateLimit

lines = []
handler = logging.Handler()
handler.emit = lambda record: lines.append(record.getMessage().split(' at ')[0])
logging.getLogger('weir').addHandler(handler)
logging.getLogger('weir').propagate = False
times = iter([0, 1, 59, 60, 61])
hooked = []

async def app(scope, receive, send): pass

def hook(error):
    hooked.append(error.code().name)
    raise ValueError('no log')

async def main():
    options = dict(address='127.0.0.1:1', domain='shop', descriptors=lambda scope: [{'user': 'zoe'}])
    limit = RateLimit(app, clock=lambda: next(times), **options)
    for _ in range(5): await limit({'type': 'http'}, None, None)
    with_hook = RateLimit(app, on_failure=hook, **options)
    await with_hook({'type': 'http'}, None, None)
    print(limit.failures, with_hook.failures, hooked, lines)
    await limit.close()
    await with_hook.close()

asyncio.run(main())
`;

test('the middleware counts requests without a decision, and warns of them once a minute or calls the hook', async () => {
  const { stdout, stderr } = await runCommand('python3', ['-c', FAILURES], {
    env: { PYTHONPATH: [stubs, 'deploy/python', packages].join(':'), PYTHONDONTWRITEBYTECODE: '1' },
  });
  expect({ stdout, stderr }).toEqual({
    stdout:
      "5 1 ['UNAVAILABLE'] ['1 request passed without a decision of Weir', '3 requests passed without a decision of Weir', 'on_failure has raised']\n",
    stderr: '',
  });
});
