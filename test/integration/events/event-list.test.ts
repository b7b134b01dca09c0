/** `weir events` lists the events of all workers on Redis, and of the embedded store. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { tokenLine, TOKENS } from '../../support/admin/admin-server';
import { httpRequest } from '../../support/clients/http-client';
import { hangLimitMs } from '../../support/clock/hang-limit';
import { until } from '../../support/clock/until';
import { startReceiver, type EventReceiver } from '../../support/events/receiver';
import { runWeir } from '../../support/processes/command';
import { startWeir } from '../../support/processes/weir-process';
import { startRedis, type RedisServer } from '../../support/redis/redis-server';
import { freePort } from '../../support/servers/ports';

const SECRET = 'a secret of at least 24 bytes';
const LIMITS = `domain: d
descriptors:
  - { key: k, rate_limit: { unit: year, requests_per_unit: 10, events: { at: [50%, 100%] } } }
`;
const TIMEOUT_MS = hangLimitMs(60_000);

let folder: string;
let redis: RedisServer;
let receiver: EventReceiver;

const inFolder = (name: string): string => path.join(folder, name);

beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'weir-event-list-'));
  writeFileSync(inFolder('limits.yaml'), LIMITS);
  writeFileSync(inFolder('events'), SECRET);
  writeFileSync(inFolder('tokens'), tokenLine('sam', 'support', TOKENS.support));
  writeFileSync(inFolder('support'), TOKENS.support);
  redis = await startRedis();
  receiver = await startReceiver(SECRET);
});

afterAll(async () => {
  await receiver.close();
  await redis.stop();
  rmSync(folder, { recursive: true });
});

test.each([
  ['the embedded store', () => ({ BACKEND_TYPE: 'memory' })],
  ['two workers on Redis', () => ({ REDIS_URL: `127.0.0.1:${redis.port}`, REDIS_OP_TIMEOUT: '1s', WORKERS: '2' })],
])(
  '%s: the command lists what was delivered',
  async (_store, store: () => Readonly<Record<string, string>>) => {
    const port = await freePort();
    const weir = await startWeir({
      config: inFolder('limits.yaml'),
      env: {
        ...store(),
        ADMIN_PORT: String(port),
        ADMIN_TOKENS_FILE: inFolder('tokens'),
        EVENTS_URL: receiver.url,
        EVENTS_SECRET_FILE: inFolder('events'),
        EVENTS_ALLOW_PRIVATE_ADDRESSES: 'true',
      },
    });
    const before = receiver.events.length;
    const body = { domain: 'd', descriptors: [{ entries: [{ key: 'k', value: 'v' }] }] };
    for (let i = 0; i < 10; i += 1) await httpRequest(`http://127.0.0.1:${weir.httpPort}/json`, { body });
    await until(() => receiver.events.length - before === 2);
    const env = { WEIR_ADMIN_URL: `http://127.0.0.1:${port}`, WEIR_ADMIN_TOKEN_FILE: inFolder('support') };
    let stdout = '';
    await until(async () => (stdout = (await runWeir(['events'], { env })).stdout).startsWith('0 waiting, 2 delivered, 0 given up.'));
    const rows = stdout.trim().split('\n').slice(2);
    expect(rows.map((row) => row.replace(/\S+ ago/, 'AGO').split(/\s{2,}/)).sort()).toEqual(
      ['100 %', '50 %'].map((at) => ['delivered', 'AGO', 'weir.limit.threshold', 'd.k', at, '1']),
    );
    expect(await weir.stop()).toBe(0);
  },
  TIMEOUT_MS,
);
