/** The worst requests at each entry leave a process with a small heap alive, and none of them whole in memory or Redis. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { callAdmin } from '../../support/admin/admin-client';
import { tokenLine, TOKENS } from '../../support/admin/admin-server';
import { httpRequest } from '../../support/clients/http-client';
import { RlsClient } from '../../support/clients/rls-client';
import { until } from '../../support/clock/until';
import { writeConfig } from '../../support/config/temp-config';
import { figure, keepFigure } from '../../support/docs/figure';
import {
  CHECK_ENV,
  FILLING_REQUEST,
  RELEASE_OF_UNKNOWN_ID,
  UNKNOWN_ID_START,
  WORST_LIMITS,
  WORST_REQUESTS,
  type WorstRequest,
  type WorstTarget,
} from '../../support/floods/worst-requests';
import { startWatchedWeir, type WatchedWeir } from '../../support/processes/watched-memory';
import { isLong } from '../../support/random/form';
import { sampled } from '../../support/random/random';
import { longestIn, usedInRedis } from '../../support/redis/longest-in-redis';
import { startRedis, type RedisServer } from '../../support/redis/redis-server';
import { freePort } from '../../support/servers/ports';

/** Of each kind; with its kinds, each entry gets about 1,000 in the long form. A process that kept those of one kind whole would fail the bound of their growth. */
const REQUESTS = isLong ? 200 : 8;
/** Ten times as long as a quiet machine needs. */
const TEST_MS = isLong ? 7_200_000 : 900_000;
/** The short form sends a random part of the kinds. */
const KINDS_PART = 1 / 2;
const AT_ONCE = 4;
const HEAP_MIB = 300;
const MIB = 1024 * 1024;

/** Sent first: their keys fill the 4,096 places of rules in the top keys. */
const FILLING_REQUESTS = 36;

/** The part of the bytes of one kind of requests that may stay in the process: each key as its SHA-256, with the facts that Weir keeps about the key. */
const GROWTH_SHARE_MAX = 5 / 8;

/** Of the second half of all requests of a kind, when what is bounded by number is full. */
const LATE_GROWTH_BYTES_MAX = 32 * MIB;

/** Between two looks at a process that has just answered, in milliseconds. */
const LOOK_MS = 500;
const LOOKS_MAX = 40;

/** As .github/SECURITY.md says. */
const RSS_BYTES_MAX = 512 * MIB;
const METRICS_BYTES_MAX = 4 * MIB;
const REDIS_KEY_BYTES_MAX = 1_024;
const REDIS_VALUE_BYTES_MAX = 16_384;
const UNKNOWN_ID_BYTES_MAX = 300;

/** The summaries of top keys of an instance, which have a bound of their own. */
const TOP_KEYS = 'weir:top';

let folder: string;
let weir: WatchedWeir | undefined;
let redis: RedisServer | undefined;
let rls: RlsClient | undefined;

beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'weir-worst-'));
  writeFileSync(path.join(folder, 'tokens'), tokenLine('ann', 'admin', TOKENS.admin));
});

afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

afterEach(async () => {
  rls?.close();
  await weir?.stop();
  await redis?.stop();
  [weir, redis, rls] = [undefined, undefined, undefined];
});

async function serve(env: Readonly<Record<string, string>>): Promise<WorstTarget> {
  const adminPort = await freePort();
  weir = await startWatchedWeir({
    heapMib: HEAP_MIB,
    config: writeConfig(WORST_LIMITS),
    env: {
      ...CHECK_ENV,
      ADMIN_PORT: String(adminPort),
      ADMIN_TOKENS_FILE: path.join(folder, 'tokens'),
      ADMIN_BODY_BYTES_MAX: String(MIB),
      CONTROL_DATA: 'true',
      METRIC_TOP_KEYS: '100',
      FAILURE_MODE: 'local',
      ...env,
    },
  });
  const adminUrl = `http://127.0.0.1:${adminPort}`;
  await until(() =>
    callAdmin(adminUrl, { path: '/v1/whoami', token: TOKENS.admin }).then(
      ({ status }) => status === 200,
      () => false,
    ),
  );
  rls = new RlsClient(weir.grpcPort);
  return { httpPort: weir.httpPort, grpcPort: weir.grpcPort, adminUrl, adminToken: TOKENS.admin, rls };
}

function redisEnv({ port }: RedisServer): Readonly<Record<string, string>> {
  return { REDIS_SOCKET_TYPE: 'tcp', REDIS_URL: `127.0.0.1:${port}`, REDIS_OP_TIMEOUT: '1s' };
}

interface Span {
  readonly from: number;
  readonly to: number;
}

/** Sends the requests of these numbers; resolves to the different answers. */
async function send(request: WorstRequest, target: WorstTarget, { from, to }: Span): Promise<Set<string>> {
  const answers = new Set<string>();
  let next = from;
  const lane = async (): Promise<void> => {
    while (next < to) {
      next += 1;
      answers.add(await request.send(target, next - 1));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
  return answers;
}

/** What the requests of a kind left. */
interface Left {
  readonly name: string;
  readonly usedBytes: number;
  readonly lateBytes: number;
  readonly rssBytes: number;
  readonly metricsBytes: number;
}

async function leftBy(request: WorstRequest, target: WorstTarget, before: number): Promise<Left & { readonly total: number }> {
  const process = weir!;
  const middle = REQUESTS / 2;
  const early = await send(request, target, { from: 0, to: middle });
  const half = isLong ? (await process.memory()).usedBytes : before;
  const late = await send(request, target, { from: middle, to: REQUESTS });
  // Whatever still answers the last of them, or waits for the end of a connection, is done in a moment.
  let { usedBytes, rssBytes } = await process.memory();
  for (let look = 0; look < LOOKS_MAX && usedBytes - before > GROWTH_SHARE_MAX * REQUESTS * MIB; look += 1) {
    await pause(LOOK_MS);
    ({ usedBytes, rssBytes } = await process.memory());
  }
  const wrong = [...early, ...late].filter((answer) => !request.answers.includes(answer));
  expect([request.name, wrong]).toEqual([request.name, []]);
  const metrics = await httpRequest(`http://127.0.0.1:${process.debugPort}/metrics`);
  return {
    name: request.name,
    total: usedBytes,
    usedBytes: usedBytes - before,
    lateBytes: usedBytes - half,
    rssBytes,
    metricsBytes: metrics.body.length,
  };
}

const mib = (bytes: number): string => (bytes / MIB).toFixed(1);

/** All requests, one kind after another, at one process. Those of the admin API that need Redis have no answer without it. */
async function walk(target: WorstTarget, requests: readonly WorstRequest[], redisPort?: number): Promise<void> {
  await send(FILLING_REQUEST, target, { from: 0, to: FILLING_REQUESTS });
  let { usedBytes: total } = await weir!.memory();
  let inRedis = redisPort === undefined ? 0 : await usedInRedis(redisPort);
  const some = new Set(sampled(requests, { part: KINDS_PART }));
  const kinds = requests.filter((request) => some.has(request) || request.name === RELEASE_OF_UNKNOWN_ID);
  for (const request of kinds) {
    const left = await leftBy(request, target, total);
    ({ total } = left);
    const isOver = {
      used: left.usedBytes > GROWTH_SHARE_MAX * REQUESTS * MIB,
      late: left.lateBytes > LATE_GROWTH_BYTES_MAX,
      rss: left.rssBytes > RSS_BYTES_MAX,
      metrics: left.metricsBytes > METRICS_BYTES_MAX,
    };
    expect({ left, isOver }).toEqual({ left, isOver: { used: false, late: false, rss: false, metrics: false } });
    const cells = [mib(left.usedBytes), mib(left.lateBytes), mib(left.rssBytes), String(Math.round(left.metricsBytes / 1024))];
    if (redisPort !== undefined) {
      const bytes = await usedInRedis(redisPort);
      cells.push(mib(bytes - inRedis));
      inRedis = bytes;
    }
    (isLong ? figure : keepFigure)(`${left.name} | ${cells.join(' | ')}`);
  }
  expect((await httpRequest(`http://127.0.0.1:${target.httpPort}/healthcheck`)).status).toBe(200);
  const { rssBytes } = await weir!.memory();
  figure(`${REQUESTS * kinds.length} requests of up to 1 MiB, RSS ${mib(rssBytes)} MiB, used ${mib(total)} MiB`);
}

test(
  'the worst requests leave a process on the embedded store alive, and none of them whole in it',
  async () => {
    await walk(await serve({ BACKEND_TYPE: 'memory' }), WORST_REQUESTS);
  },
  TEST_MS,
);

test(
  'the worst requests leave a process on Redis alive, and nothing long in it or in Redis',
  async () => {
    redis = await startRedis();
    const { port } = redis;
    const target = await serve(redisEnv(redis));
    await walk(target, WORST_REQUESTS, port);
    const { key, value } = await longestIn(port, (each) => !each.startsWith(TOP_KEYS));
    expect(key.length).toBeLessThan(REDIS_KEY_BYTES_MAX);
    expect(value.bytes).toBeLessThanOrEqual(REDIS_VALUE_BYTES_MAX);
    const released = await longestIn(port, (each) => each.includes(UNKNOWN_ID_START));
    expect(released.key).not.toBe('');
    expect(released.value.bytes).toBeLessThan(UNKNOWN_ID_BYTES_MAX);
    figure(
      `Redis has ${mib(await usedInRedis(port))} MiB, keys of up to ${key.length} bytes, and values of up to ${value.bytes} (${value.of.slice(0, 40)})`,
    );
  },
  TEST_MS,
);

test(
  'the worst requests during an outage of Redis leave the process alive, and none of them whole in it',
  async () => {
    redis = await startRedis();
    const target = await serve(redisEnv(redis));
    await redis.stop();
    redis = undefined;
    await walk(
      target,
      WORST_REQUESTS.filter(({ needsStore }) => !needsStore),
    );
  },
  TEST_MS,
);
