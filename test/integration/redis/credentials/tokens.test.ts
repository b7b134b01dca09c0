/** Weir authenticates to Redis with tokens of AWS IAM and Microsoft Entra ID, and renews them on open connections. */

import type { ServiceError } from '@grpc/grpc-js';
import { OK, RlsClient } from '../../../support/clients/rls-client';
import { until } from '../../../support/clock/until';
import { writeConfig } from '../../../support/config/temp-config';
import { runWeir } from '../../../support/processes/command';
import { startWeir, type WeirProcess } from '../../../support/processes/weir-process';
import { startFakeEngine, type EngineBehaviour, type FakeEngine } from '../../../support/redis/fake-engine';
import { MASTER_NAME, startSentinel } from '../../../support/redis/redis-sentinel';
import { startRedis, type RedisServer } from '../../../support/redis/redis-server';
import { makeTestClient } from '../../../support/redis/redis-store';
import { startAwsCredentials } from '../../../support/redis/tokens/aws-credentials-server';
import { figure } from '../../../support/docs/figure';
import { isLong } from '../../../support/random/form';
import { freePort } from '../../../support/servers/ports';
import { awsAuth, type AwsTokenOptions } from '../../../support/redis/tokens/aws-token';
import { startEntra, type EntraServer } from '../../../support/redis/tokens/entra-server';

const TIMEOUT_MS = 180_000;

/** Longer than the first tokens live. */
const LOAD_MS = isLong ? 90_000 : 11_000;

const CONFIG = writeConfig(`domain: d
descriptors:
  - { key: main, rate_limit: { unit: hour, requests_per_unit: 1000000 } }
  - { key: second, rate_limit: { unit: second, requests_per_unit: 1000000 } }
`);

const AWS: AwsTokenOptions = {
  accessKeyId: 'AKIDEXAMPLE',
  secret: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
  sessionToken: 'session/token+of==role',
  region: 'eu-central-1',
  service: 'elasticache',
  cacheName: 'limits-1',
  userId: 'weir-user',
  forMs: 8_000,
};

/** Without the metadata of a machine. */
const IAM = {
  AWS_REGION: AWS.region,
  AWS_EC2_METADATA_DISABLED: 'true',
  REDIS_AWS_IAM_AUTH: 'true',
  REDIS_AWS_IAM_CACHE_NAME: 'Limits-1',
  REDIS_AWS_IAM_USER_ID: AWS.userId,
};

/** What the SDK of AWS reads in the environment. */
const KEYS = {
  AWS_ACCESS_KEY_ID: AWS.accessKeyId,
  AWS_SECRET_ACCESS_KEY: AWS.secret,
  AWS_SESSION_TOKEN: AWS.sessionToken!,
};

/** Counted in both Redis. */
const BOTH = [{ entries: { main: 'v' } }, { entries: { second: 'v' } }];

let redis: RedisServer;
let engines: FakeEngine[] = [];
let weirs: WeirProcess[] = [];
let entra: EntraServer | undefined;

beforeAll(async () => {
  redis = await startRedis();
});

afterEach(async () => {
  await Promise.all(weirs.map((weir) => weir.stop()));
  await Promise.all(engines.map((engine) => engine.stop()));
  await entra?.stop();
  [weirs, engines, entra] = [[], [], undefined];
});

afterAll(() => redis.stop());

async function engineThat(auth: NonNullable<EngineBehaviour['auth']>, port = redis.port): Promise<FakeEngine> {
  const engine = await startFakeEngine(port, { auth });
  engines.push(engine);
  return engine;
}

async function weirWith(env: Readonly<Record<string, string>>): Promise<WeirProcess> {
  const weir = await startWeir({ config: CONFIG, env: { REDIS_OP_TIMEOUT: '1s', ...env } });
  weirs.push(weir);
  return weir;
}

function authsOf(engine: FakeEngine): number {
  return engine.commands.get('AUTH') ?? 0;
}

/** The server as `weir settings --probe` names it, by what it says of itself. */
function engineOf(info: string): string {
  const field = (name: string) => new RegExp(`^${name}:(.*?)\r?$`, 'm').exec(info)?.[1];
  const valkey = field('valkey_version');
  return valkey === undefined ? `redis ${field('redis_version')!}` : `valkey ${valkey}`;
}

/** Nothing of a secret or a token. */
function expectNoSecret(text: string): void {
  for (const secret of [AWS.secret, AWS.sessionToken!, 'X-Amz-Signature', 'eyJ']) expect(text).not.toContain(secret);
}

/** A cluster and sentinels may need longer than a start waits for them. */
async function untilConnected(weir: WeirProcess): Promise<void> {
  const client = new RlsClient(weir.grpcPort);
  await until(() =>
    client.ask('d', BOTH).then(
      () => true,
      () => false,
    ),
  );
  client.close();
}

/** Calls both Redis until `isOver`, several at once. Resolves to the codes and errors, counted. */
async function load(weir: WeirProcess, isOver: () => boolean): Promise<Readonly<Record<string, number>>> {
  const client = new RlsClient(weir.grpcPort);
  const counts: Record<string, number> = {};
  const caller = async (): Promise<void> => {
    while (!isOver()) {
      const outcome = await client.ask('d', BOTH).then(
        ({ overall_code: code }) => code,
        (error: unknown) => (error as ServiceError).details,
      );
      counts[String(outcome)] = (counts[String(outcome)] ?? 0) + 1;
    }
  };
  await Promise.all(Array.from({ length: 8 }, caller));
  client.close();
  return counts;
}

test(
  'no call fails while the tokens of two Redis are renewed on connections that would end with the first ones',
  async () => {
    entra = await startEntra({ lifeS: 8 });
    const [main, second] = [await engineThat(awsAuth(AWS)), await engineThat(entra.auth)];
    const weir = await weirWith({
      ...IAM,
      ...KEYS,
      ...entra.env,
      REDIS_URL: `127.0.0.1:${main.port}`,
      REDIS_PERSECOND: 'true',
      REDIS_PERSECOND_URL: `127.0.0.1:${second.port}`,
      REDIS_PERSECOND_SOCKET_TYPE: 'tcp',
      REDIS_PERSECOND_AZURE_ENTRA_AUTH: 'true',
      REDIS_AUTH_RENEWAL: '1500ms',
    });
    const [connectionsBefore, endMs] = [[main.connections, second.connections], performance.now() + LOAD_MS];
    const counts = await load(weir, () => performance.now() > endMs && authsOf(main) >= 5 && authsOf(second) >= 5);
    expect(Object.keys(counts)).toEqual([String(OK)]);
    expect(counts[String(OK)]).toBeGreaterThan(100);
    figure(`${String(counts[String(OK)])} calls over ${authsOf(main)} and ${authsOf(second)} tokens, none failed`);
    expect([main.expired, second.expired]).toEqual([0, 0]);
    expect([main.connections, second.connections]).toEqual(connectionsBefore);
    expect(entra.given).toBeGreaterThan(2);
    expectNoSecret(weir.output());
    expect(weir.output()).toContain('without TLS; set REDIS_TLS=true');
    expect(weir.output()).not.toContain('could not be renewed');
  },
  TIMEOUT_MS,
);

test(
  'a cluster, a primary behind a sentinel, weir settings --probe and the admin API get tokens of their own',
  async () => {
    const cluster = await startRedis({ config: ['--cluster-enabled', 'yes'] });
    const [node, primary] = [await engineThat(awsAuth(AWS), cluster.port), await engineThat(awsAuth(AWS))];
    const sentinel = await startSentinel({ watches: { host: '127.0.0.1', port: primary.port, quorum: 1 } });
    try {
      const client = makeTestClient(cluster.port);
      await client.connect();
      await client.sendCommand(['CONFIG', 'SET', 'cluster-announce-ip', '127.0.0.1']);
      await client.sendCommand(['CONFIG', 'SET', 'cluster-announce-port', String(node.port)]);
      await client.sendCommand(['CLUSTER', 'ADDSLOTSRANGE', '0', '16383']);
      const version = engineOf(await client.info('server'));
      client.destroy();
      const env = { ...IAM, ...KEYS, REDIS_URL: `127.0.0.1:${node.port}`, REDIS_TYPE: 'cluster' };
      const weir = await weirWith({
        ...env,
        REDIS_PERSECOND: 'true',
        REDIS_PERSECOND_TYPE: 'sentinel',
        REDIS_PERSECOND_URL: `${MASTER_NAME},127.0.0.1:${sentinel.port}`,
        REDIS_PERSECOND_AWS_IAM_AUTH: 'true',
        REDIS_PERSECOND_AWS_IAM_CACHE_NAME: AWS.cacheName,
        REDIS_PERSECOND_AWS_IAM_USER_ID: AWS.userId,
        ADMIN_PORT: String(await freePort()),
        ADMIN_AUTH: 'off',
        REDIS_AUTH_RENEWAL: '1s',
      });
      await untilConnected(weir);
      const connections = node.connections;
      // Those of the decisions and of the admin API. A sentinel connects without a token.
      expect(Math.min(authsOf(node), connections, authsOf(primary))).toBeGreaterThanOrEqual(2);
      const [ofNode, ofPrimary] = [authsOf(node) + 6, authsOf(primary) + 6];
      const counts = await load(weir, () => authsOf(node) >= ofNode && authsOf(primary) >= ofPrimary);
      expect(Object.keys(counts)).toEqual([String(OK)]);
      expect([node.connections, node.expired, primary.expired]).toEqual([connections, 0, 0]);
      const { exitCode, stdout } = await runWeir(['settings', '--changed', '--probe'], { env });
      expect(stdout).toContain(`: ${version}\n`);
      expect(exitCode).toBe(0);
      expectNoSecret(stdout + weir.output());
    } finally {
      await sentinel.stop();
      await cluster.stop();
    }
  },
  TIMEOUT_MS,
);

test(
  'while nobody gives credentials, an open connection goes on, is renewed later, and a new one gets the reason',
  async () => {
    const agent = await startAwsCredentials({ lifeS: 3 });
    const auth: EngineBehaviour['auth'] = (words) => {
      const verdicts = agent.given.map((each) => awsAuth({ ...AWS, ...each, forMs: 30_000 })(words));
      return verdicts.findLast(({ refusal }) => refusal === undefined) ?? { refusal: 'WRONGPASS' };
    };
    const engine = await engineThat(auth);
    const env = { ...IAM, ...agent.env, REDIS_URL: `127.0.0.1:${engine.port}`, REDIS_AUTH_RENEWAL: '1s' };
    try {
      agent.isUp = false;
      const weir = await weirWith(env);
      await until(() => weir.output().includes('no credentials from AWS IAM: '));
      agent.isUp = true;
      const client = new RlsClient(weir.grpcPort);
      const ask = () =>
        client.ask('d', [{ entries: { main: 'v' } }]).then(
          ({ overall_code: code }) => code,
          () => undefined,
        );
      await until(async () => (await ask()) === OK);
      await until(() => authsOf(engine) >= 2);
      agent.isUp = false;
      const givenBefore = agent.given.length;
      await until(() =>
        weir.output().includes('could not be renewed, its connection goes on, and Weir tries again: no credentials from AWS IAM: '),
      );
      expect(await ask()).toBe(OK);
      agent.isUp = true;
      await until(() => weir.output().includes('are renewed again'));
      expect(await ask()).toBe(OK);
      client.close();
      expect(engine.connections).toBe(1);
      expect(agent.given.length).toBeGreaterThan(givenBefore);
      expect(weir.output()).not.toMatch(/secret\+of|session\/|X-Amz/);
    } finally {
      await agent.stop();
    }
  },
  TIMEOUT_MS,
);

test(
  'a start waits for a first token that is late, so that its first call is decided by Redis',
  async () => {
    entra = await startEntra({ lifeS: 3_600 });
    entra.next.push('late');
    const engine = await engineThat(entra.auth);
    const weir = await weirWith({ ...entra.env, REDIS_URL: `127.0.0.1:${engine.port}`, REDIS_AZURE_ENTRA_AUTH: 'true' });
    const client = new RlsClient(weir.grpcPort);
    expect((await client.ask('d', [{ entries: { main: 'v' } }])).overall_code).toBe(OK);
    client.close();
    expect([engine.connections, entra.given]).toEqual([1, 1]);
  },
  TIMEOUT_MS,
);

test(
  'the log says that Redis refuses a token, without the token that a proxy repeats',
  async () => {
    const engine = await engineThat((words) => ({ refusal: `${awsAuth(AWS)(words).refusal ?? 'accepted'} ${words[2] ?? ''}` }));
    const weir = await weirWith({ ...IAM, ...KEYS, AWS_SECRET_ACCESS_KEY: 'another', REDIS_URL: `127.0.0.1:${engine.port}` });
    await until(() => weir.output().includes('WRONGPASS'));
    expect(weir.output()).toMatch(/no Redis at redis:.*\(WRONGPASS invalid username-password pair or user is disabled\. …\)/);
    expectNoSecret(weir.output());
  },
  TIMEOUT_MS,
);
