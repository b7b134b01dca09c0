/** An operator spends a day by commands alone, and a refused command says why in one sentence. */

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { PAYMENTS, tokenLine, TOKENS } from '../../support/admin/admin-server';
import { httpRequest } from '../../support/clients/http-client';
import { until } from '../../support/clock/until';
import { runWeir, type CommandResult } from '../../support/processes/command';
import { startWeir, type WeirProcess } from '../../support/processes/weir-process';
import { startRedis, type RedisServer } from '../../support/redis/redis-server';
import { makeCertificates, type Certificates } from '../../support/servers/certificates';
import { freePort } from '../../support/servers/ports';

/** A domain with trees of tenants. */
const POOLS = `
domain: llm
plans:
  seat: { rate_limit: { name: seat, unit: day, requests_per_unit: 10 } }
  org: { pool: [{ name: org_pool, unit: day, requests_per_unit: 100 }], members: seat }
descriptors: [{ key: caller, tenant: true, default_plan: seat }]
`;

const STARTED_WITHIN_MS = 60_000;

let folder: string;
let redis: RedisServer;
let certificates: Certificates;

const inFolder = (name: string): string => path.join(folder, name);

beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'weir-commands-'));
  mkdirSync(inFolder('config'));
  writeFileSync(inFolder('config/limits.yaml'), PAYMENTS);
  writeFileSync(inFolder('config/pools.yaml'), POOLS);
  writeFileSync(inFolder('tokens'), tokenLine('ann', 'admin', TOKENS.admin) + tokenLine('vic', 'viewer', TOKENS.viewer));
  for (const role of ['admin', 'viewer'] as const) writeFileSync(inFolder(role), `${TOKENS[role]}\n`);
  certificates = makeCertificates();
  redis = await startRedis();
}, STARTED_WITHIN_MS);

afterAll(async () => {
  await redis.stop();
  rmSync(folder, { recursive: true, force: true });
});

interface Served {
  readonly weir: WeirProcess;
  readonly run: (...args: readonly string[]) => Promise<CommandResult>;
  /** The output of a command that must succeed. */
  readonly text: (...args: readonly string[]) => Promise<string>;
  /** The warnings of a write that must succeed. */
  readonly warned: (...args: readonly string[]) => Promise<string>;
  /** The output of a command that must succeed, with `--json`. */
  readonly json: (...args: readonly string[]) => Promise<unknown>;
  /** The code of a request of the merchant. */
  readonly ask: (merchant: string, hits?: number) => Promise<string>;
}

async function serve(scheme: 'http' | 'https', env: Readonly<Record<string, string>>): Promise<Served> {
  const port = await freePort();
  const weir = await startWeir({
    config: inFolder('config'),
    env: { ADMIN_PORT: String(port), ADMIN_TOKENS_FILE: inFolder('tokens'), REDIS_OP_TIMEOUT: '1s', TOP_KEYS: 'true', ...env },
  });
  const connection = {
    WEIR_ADMIN_URL: `${scheme}://localhost:${port}`,
    WEIR_ADMIN_TOKEN_FILE: inFolder('admin'),
    ...(scheme === 'https' && { WEIR_ADMIN_CA_FILE: certificates.ca.cert }),
  };
  const run = (...args: readonly string[]) => runWeir(args, { env: connection });
  const text = async (...args: readonly string[]) => {
    const { exitCode, stdout, stderr } = await run(...args);
    expect({ args, exitCode, stderr }).toEqual({ args, exitCode: 0, stderr: '' });
    return stdout;
  };
  const warned = async (...args: readonly string[]) => {
    const { exitCode, stderr } = await run(...args);
    expect({ args, exitCode }).toEqual({ args, exitCode: 0 });
    return stderr;
  };
  const ask = async (merchant: string, hits = 1): Promise<string> => {
    const body = { domain: 'payments', hitsAddend: hits, descriptors: [{ entries: [{ key: 'merchant', value: merchant }] }] };
    const reply = await httpRequest(`http://127.0.0.1:${weir.httpPort}/json`, { body });
    return (JSON.parse(reply.body) as { overallCode: string }).overallCode;
  };
  await until(async () => (await run('instances')).exitCode === 0);
  return { weir, run, text, warned, json: async (...args) => JSON.parse(await text(...args, '--json')) as unknown, ask };
}

const DOMAIN = ['--domain', 'payments'];

interface Place {
  readonly store: string;
  readonly start: () => Promise<Served>;
  /** What a CA that did not sign the server's certificate leads to. */
  readonly otherCa: { readonly exitCode: number; readonly says: RegExp };
}

const places: readonly Place[] = [
  {
    store: 'the embedded store, over TLS',
    start: () => {
      const { cert, key } = certificates.server;
      return serve('https', { BACKEND_TYPE: 'memory', ADMIN_TLS_CERT: cert, ADMIN_TLS_KEY: key });
    },
    otherCa: { exitCode: 1, says: /certificate.*; check https in WEIR_ADMIN_URL, and the CA/ },
  },
  {
    store: 'Redis',
    start: () => serve('http', { REDIS_URL: `127.0.0.1:${redis.port}` }),
    otherCa: { exitCode: 2, says: /--ca, --cert and --key need https/ },
  },
];

describe.each(places)('on $store', ({ start, otherCa }) => {
  let served: Served;
  beforeAll(async () => {
    served = await start();
  }, STARTED_WITHIN_MS);
  afterAll(async () => {
    expect(await served.weir.stop()).toBe(0);
  });

  test('who is limited now, why, another limit until Friday, a credit, and a block lifted', async () => {
    const { text, json, ask } = served;
    const descriptor = [...DOMAIN, '--descriptor', 'merchant=merchant_42'];
    expect(await ask('merchant_42', 100)).toBe('OK');
    for (let i = 0; i < 20; i += 1) expect(await ask('merchant_42', 90)).toBe('OVER_LIMIT');
    await until(async () => (await text('top', 'denied', '--minutes', '1')).includes('merchant=merchant_42'), { timeoutMs: 30_000 });
    expect(await text('bucket', 'explain', ...descriptor)).toMatch(/per merchant=100\/minute +\d+ +rule at .*limits\.yaml:\d+\n/);

    const set = ['override', 'set', 'm42', ...DOMAIN, '--entries', 'merchant=merchant_42', '--reason', 'sale', '--until', '4d'];
    const limit = ['--limit', 'per merchant=300/minute'];
    expect(await text(...set, ...limit, '--dry-run')).toContain('Dry run: Override payments/m42 would be created.');
    expect(await text('override', 'list')).toBe('There are none.\n');
    expect(await text(...set, ...limit)).toMatch(
      /^Override payments\/m42 created, version \d+\.\n(?:.*\n)* {2}until .*\(in 4d\)\n {2}reason {3}sale\n/,
    );
    await until(async () => (await ask('merchant_42', 150)) === 'OK', { timeoutMs: 5_000 });

    const credit = ['credit', ...descriptor, '--hits', '150', '--id', 'ticket-7', '--reason', 'our mistake'];
    expect(await json(...credit)).toMatchObject({ dry_run: false, repeated: false, given: [{ hits: expect.any(Number) as number }] });
    expect(await text(...credit)).toBe('A credit with the id ticket-7 was given before; this one gave nothing.\n');
    expect(await ask('merchant_42', 150)).toBe('OK');

    await text('block', 'set', 'fraud', ...DOMAIN, '--entries', 'merchant=merchant_42', '--until', '1h', '--reason', 'fraud');
    await until(async () => (await ask('merchant_42')) === 'OVER_LIMIT', { timeoutMs: 5_000 });
    expect(await text('bucket', 'explain', ...descriptor)).toMatch(/^Denied now\.\n {2}By block fraud until .*, for descriptor 0.*\.\n/);
    expect(await text('block', 'delete', 'fraud', ...DOMAIN, '--reason', 'cleared')).toMatch(
      /^Block payments\/fraud deleted, version \d+\.\n/,
    );
    await text('bucket', 'reset', ...descriptor);
    await until(async () => (await ask('merchant_42')) === 'OK', { timeoutMs: 5_000 });

    const { items } = (await json('audit', 'list', '--order', 'oldest')) as {
      items: readonly { action: string; author: string; reason?: string }[];
    };
    expect(items.map(({ action, author, reason }) => [action, author, reason])).toEqual([
      ['put', 'ann', 'sale'],
      ['credit', 'ann', 'our mistake'],
      ['put', 'ann', 'fraud'],
      ['delete', 'ann', 'cleared'],
      ['reset', 'ann', undefined],
    ]);
    expect((await text('audit', 'export')).trimEnd().split('\n')).toHaveLength(items.length);
  });

  test('a tree of tenants: parents are set, kept and taken away, what is left is shown, and a cycle is refused', async () => {
    const { run, text } = served;
    const set = (tenant: string, ...options: string[]) => text('tenant', 'set', tenant, '--domain', 'llm', ...options);
    await set('org', '--plan', 'org');
    expect(await set('ann', '--parent', 'org')).toMatch(/^Tenant llm\/ann created, version \d+\.\n(?:.*\n)* {2}parent +org\n/);
    expect(await set('ann', '--plan', 'seat')).toMatch(/\n {2}plan +- -> seat\n {2}parent +org\n|\n {2}plan +seat\n {2}parent +org\n/);
    await set('bob', '--parent', 'org');
    expect(await text('tenant', 'tree', 'org', '--domain', 'llm')).toBe(
      [
        'TENANT  PLAN           BELOW  LEFT',
        'org     org                2  pool org_pool=100/day: 100',
        '  ann   seat               0  seat=10/day: 10',
        '  bob   seat (of org)      0  seat=10/day: 10',
        '',
      ].join('\n'),
    );
    expect(await text('tenant', 'show', 'bob', '--domain', 'llm')).toMatch(
      /plan +none of its own\n {2}parent +org\n[^]*plan seat, which the plan of org names for members\n {2}below org \(plan org\)\n[^]*org_pool=100\/day in the pool of org/,
    );
    const cycle = await run('tenant', 'set', 'org', '--domain', 'llm', '--parent', 'ann');
    expect(cycle).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining('the parent is below the tenant; name another parent') as string,
    });
    expect((await run('tenant', 'delete', 'org', '--domain', 'llm')).stderr).toContain('has 2 tenant(s) directly below it');
    expect(await set('ann', '--parent', '')).toMatch(/parent +org -> -\n/);
    const audit = await text('audit', 'list', '--domain', 'llm', '--tenant', 'ann', '--json');
    expect(JSON.parse(audit)).toMatchObject({ items: [{ before: { parent: 'org' }, after: { plan: 'seat' } }, {}, {}] });
  });

  test('a server whose CA is not known gets no token', async () => {
    const { exitCode, stderr } = await served.run('instances', '--ca', certificates.otherCa.cert);
    expect(exitCode).toBe(otherCa.exitCode);
    expect(stderr).toMatch(otherCa.says);
  });
});

describe('each command, on the embedded store', () => {
  let served: Served;
  beforeAll(async () => {
    served = await serve('http', { BACKEND_TYPE: 'memory' });
  }, STARTED_WITHIN_MS);
  afterAll(async () => {
    expect(await served.weir.stop()).toBe(0);
  });

  test('tenants, plans and passes are written, listed and deleted', async () => {
    const { text, json, warned } = served;
    expect(await warned('plan', 'set', 'gold', ...DOMAIN, '--limit', '5/minute', '--limit', 'b=9/day+4')).toBe(
      'warning: the plan gold has no limit "b"; its limits have no names, so leave the name out\n',
    );
    expect(await text('plan', 'list')).toContain('5/minute b=9/day+4');
    await text('tenant', 'set', 'Zürich, AG/1', ...DOMAIN, '--plan', 'gold');
    expect(await json('tenant', 'show', 'Zürich, AG/1', ...DOMAIN)).toMatchObject({
      tenant: 'Zürich, AG/1',
      record: { plan: 'gold', author: 'ann' },
      descriptors: [{ plan: 'gold', limits: [{ source: { from: 'plan_values' }, bucket: { remaining: 5 } }] }],
    });
    expect(await text('tenant', 'show', 'Zürich, AG/1', ...DOMAIN)).toMatch(
      /plan gold\n {2}LIMIT +LEFT +FROM\n {2}5\/minute +5 +run-time values of the plan gold by ann, instead of 900\/minute of .*limits\.yaml:\d+/,
    );
    expect(await warned('pass', 'set', 'p', ...DOMAIN, '--entries', 'merchant=load,path')).toMatch(/^warning: .*path.*\n$/);
    expect(await text('pass', 'list', ...DOMAIN)).toContain('merchant=load,path');
    expect(await json('tenant', 'delete', 'Zürich, AG/1', ...DOMAIN)).toMatchObject({ changed: true });
    expect(await json('tenant', 'delete', 'Zürich, AG/1', ...DOMAIN)).toMatchObject({ changed: false });
  });

  test('a change of somebody else is not lost: --if-match and --create-only', async () => {
    const { text, json, run } = served;
    const set = (limit: string, ...more: readonly string[]) =>
      run('override', 'set', 'o', ...DOMAIN, '--entries', 'merchant=o', '--limit', limit, ...more);
    expect(await set('1/minute', '--create-only')).toMatchObject({ exitCode: 0 });
    expect(await set('2/minute', '--create-only')).toMatchObject({ exitCode: 1, stdout: '' });
    const { version } = (await json('override', 'show', 'o', ...DOMAIN)) as { version: number };
    expect(await set('3/minute', '--if-match', String(version))).toMatchObject({ exitCode: 0 });
    const late = await set('4/minute', '--if-match', String(version));
    expect(late.exitCode).toBe(1);
    expect(late.stderr).toMatch(
      /^weir override set: refused with 412: the item is not as the request expects: its ETag is "\d+"; read it again\n$/,
    );
    expect(await text('override', 'show', 'o', ...DOMAIN)).toContain('3/minute');
  });

  test('a candidate is tried, and promoted; lost control data are restored or discarded', async () => {
    const { text, json, run } = served;
    await text('override', 'set', 'try', ...DOMAIN, '--entries', 'merchant=t', '--limit', 'per merchant=7/minute', '--candidate');
    expect(await text('override', 'list', ...DOMAIN)).toMatch(/ try +merchant=t +per merchant=7\/minute +yes /);
    expect(await text('override', 'promote', 'try', ...DOMAIN, '--dry-run')).toContain('would be replaced');
    expect(await run('override', 'promote', 'try', ...DOMAIN, '--if-match', '1')).toMatchObject({ exitCode: 1, stdout: '' });
    expect(await json('override', 'promote', 'try', ...DOMAIN, '--reason', 'fits')).toMatchObject({
      changed: true,
      after: { reason: 'fits' },
    });
    expect(await json('override', 'show', 'try', ...DOMAIN)).not.toHaveProperty('candidate');
    expect(await text('control', 'restore', '--dry-run')).toBe('Dry run: 0 would be restored.\n');
    expect(await json('control', 'restore', '--reason', 'test')).toEqual({ dry_run: false, restored: 0 });
    expect(await json('control', 'discard-lost', '--reason', 'test')).toEqual({ discarded: true });
  });

  test('a refusal is one sentence that names the flag, and the exit code is 1', async () => {
    const { run } = served;
    const block = ['block', 'set', 'x', '--entries', 'merchant=x'];
    const refused = async (...args: readonly string[]) => {
      const { exitCode, stdout, stderr } = await run(...args);
      expect([exitCode, stdout, stderr.split('\n').length]).toEqual([1, '', 2]);
      return stderr;
    };
    expect(await refused(...block, '--domain', 'paymentz')).toContain(
      'refused with 409: the configuration in force has no domain "paymentz"',
    );
    expect(await refused(...block, ...DOMAIN, '--reason', 'x'.repeat(300))).toContain('refused with 400: --reason: ');
    expect(await refused('block', 'show', 'none', ...DOMAIN)).toContain('refused with 404: there is no such block');
    expect(await refused(...block, ...DOMAIN, '--token-file', inFolder('viewer'))).toContain(
      'refused with 403: this needs the role support',
    );
    expect(await refused('instances', '--url', 'http://127.0.0.1:1')).toContain('no answer from http://127.0.0.1:1/: connect ECONNREFUSED');
    expect(await run('block', 'set', 'x', ...DOMAIN)).toMatchObject({ exitCode: 2, stdout: '' });
  });

  test('a tail shows the decisions that match, and ends after --count', async () => {
    const { ask, json } = served;
    let isOver = false;
    const tail = json('tail', '--entries', 'merchant=seen', '--count', '1').finally(() => {
      isOver = true;
    });
    await until(async () => {
      await ask('unseen');
      await ask('seen');
      return isOver;
    });
    expect(await tail).toMatchObject({ domain: 'payments', descriptors: [{ entries: [{ key: 'merchant', value: 'seen' }] }] });
  });
});
