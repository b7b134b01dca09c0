/** `weir tail` and `weir top` name blocks, and count processes. */

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { runControl } from '../../../../src/program/cli/control/control-command';
import { tail } from '../../../../src/program/cli/control/tail';
import { top } from '../../../../src/program/cli/control/top';

test('samples that come in one piece are shown up to --count', async () => {
  const server = createServer((_, response) => {
    response.setHeader('content-type', 'text/event-stream');
    response.write('data: {"n":1}\n\ndata: {"n":2}\n\ndata: {"n":3}\n\n');
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const printed = jest.spyOn(console, 'log').mockImplementation();
  try {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const run = runControl(tail, { args: ['--count', '2', '--json'], env: { WEIR_ADMIN_URL: url } });
    expect(await run).toBe(0);
    expect(printed.mock.calls.flat()).toEqual(['{"n":1}', '{"n":2}']);
  } finally {
    printed.mockRestore();
    server.closeAllConnections();
    server.close();
  }
});

async function textOf(
  command: typeof tail,
  { args, type, body }: { args: readonly string[]; type: string; body: string },
): Promise<string> {
  const server = createServer((_, response) => {
    response.setHeader('content-type', type);
    response.write(body);
    if (type !== 'text/event-stream') response.end();
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const printed = jest.spyOn(console, 'log').mockImplementation();
  try {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    expect(await runControl(command, { args, env: { WEIR_ADMIN_URL: url } })).toBe(0);
    return printed.mock.calls.flat().join('\n');
  } finally {
    printed.mockRestore();
    server.closeAllConnections();
    server.close();
  }
}

test('a blocked request shows its block, and not that it has no limit', async () => {
  const entries = (key: string, value: string) => [{ key, value }];
  const sample = {
    at: '2026-11-23T12:00:00Z',
    pid: 1,
    domain: 'payments',
    over_limit: true,
    blocked: true,
    skipped: 0,
    descriptors: [
      { entries: entries('endpoint', '/pay'), hits: 1, rule: 'endpoint', over_limit: true },
      { entries: entries('merchant', 'm13'), hits: 1, rule: 'merchant', over_limit: true, block: 'fraud-13' },
    ],
  };
  const text = await textOf(tail, { args: ['--count', '1'], type: 'text/event-stream', body: `data: ${JSON.stringify(sample)}\n\n` });
  expect(text).toContain('merchant=m13 (block fraud-13)');
  expect(text).not.toContain('no limit');
});

test('top counts processes, and calls a block a block', async () => {
  const limit = { name: 'block', requests_per_unit: 0, unit: 'second', unit_multiplier: 1 };
  const items = [{ domain: 'payments', rule: 'merchant', entries: 'merchant=m13', count: 9, error: 0, limit }];
  const body = JSON.stringify({ items, unlisted_max: 0, total_hits: 9, covered_ms: 60_000, instances: 2, missing: 0 });
  const text = await textOf(top, { args: ['denied'], type: 'application/json', body });
  expect(text).toContain('a block');
  expect(text).toContain('from 2 processes');
  expect(text).not.toContain('0/second');
});
