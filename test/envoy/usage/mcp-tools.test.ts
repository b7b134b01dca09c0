/** The calls of each MCP tool have a limit for each user behind a real Envoy, and no form of a request calls a tool uncounted. */

import { bearer } from '../chain/tokens';
import { startUsageChain, type UsageChain } from '../chain/usage-chain';

const QUERIES = 5;

let chain: UsageChain;

beforeAll(async () => {
  chain = await startUsageChain({ store: 'memory', preset: 'mcp-tools' });
});

afterAll(async () => {
  await chain.stop();
});

interface Sent {
  readonly user: string;
  readonly body?: unknown;
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

async function send({ user, body, type = 'application/json', headers = {} }: Sent): Promise<number> {
  const sent = body === undefined ? {} : { body, headers: { 'content-type': type } };
  const { status } = await chain.send({
    path: '/mcp',
    ...sent,
    headers: { ...bearer({ sub: user, aud: 'mcp' }), ...sent.headers, ...headers },
  });
  return status;
}

const message = (method: string, params: object = {}) => ({ jsonrpc: '2.0', id: 1, method, params });
const call = (name: string) => message('tools/call', { name, arguments: { sql: 'select 1' } });

async function statuses(user: string, body: unknown, times: number): Promise<readonly number[]> {
  const all: number[] = [];
  for (let i = 0; i < times; i += 1) all.push(await send({ user, body }));
  return all;
}

test('a tool has its own limit for each user, and other tools and methods go on', async () => {
  expect(await statuses('ann', call('run_query'), QUERIES + 1)).toEqual([...new Array<number>(QUERIES).fill(200), 429]);
  expect(await send({ user: 'ann', body: call('search') })).toBe(200);
  expect(await send({ user: 'ann', body: message('tools/list') })).toBe(200);
  expect(await send({ user: 'bob', body: call('run_query') })).toBe(200);
});

test('a stream without a body and the answer of a client pass', async () => {
  expect(await send({ user: 'carol' })).toBe(200);
  expect(await send({ user: 'carol', body: { jsonrpc: '2.0', id: 7, result: { action: 'accept' } } })).toBe(200);
});

test.each<[string, Omit<Sent, 'user'>, number]>([
  ['a batch', { body: [call('run_query')] }, 429],
  ['text that is no JSON', { body: '{"method": "tools/call", "params": {"name": "run_query"}' }, 429],
  ['another type of content', { body: JSON.stringify(call('run_query')), type: 'text/plain' }, 415],
  ['a vendor type of JSON', { body: call('run_query'), type: 'application/mcp+json' }, 429],
  ['parameters of the type', { body: call('run_query'), type: 'application/json; charset=utf-8' }, 429],
  ['escaped letters in the name', { body: '{"method":"tools/call","params":{"name":"run\\u005fquery"}}' }, 429],
  ['a user that the caller names', { body: call('run_query'), headers: { 'x-user': 'somebody-else' } }, 429],
])('%s does not get a call past the limit', async (_what, sent, status) => {
  const user = 'dave';
  await statuses(user, call('run_query'), QUERIES);
  expect(await send({ user, ...sent })).toBe(status);
});

test('a request without a valid token is refused', async () => {
  const { status } = await chain.refused({ path: '/mcp', body: call('run_query'), headers: { 'content-type': 'application/json' } });
  expect(status).toBe(401);
});
