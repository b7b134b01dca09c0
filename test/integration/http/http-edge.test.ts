/** Floods of connections and bodies leave the HTTP port files and memory for health checks and calls. */

import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { httpRequest } from '../../support/clients/http-client';
import { RlsClient } from '../../support/clients/rls-client';
import { writeConfig } from '../../support/config/temp-config';
import { until } from '../../support/clock/until';
import { startWeir, type WeirProcess } from '../../support/processes/weir-process';

const CONFIG = writeConfig('domain: d\ndescriptors: [{ key: k, rate_limit: { unit: year, requests_per_unit: 1000 } }]\n');

const HITS = { domain: 'd', descriptors: [{ entries: [{ key: 'k', value: 'v' }], hitsAddend: 3 }] };
const REFUND = { domain: 'd', descriptors: [{ entries: [{ key: 'k', value: 'v' }], hitsAddend: 3, isNegativeHits: true }] };

describe('under a low limit on open files', () => {
  const FILES_MAX = 128;
  let weir: WeirProcess;
  const sockets: Socket[] = [];

  beforeAll(async () => {
    const command = ['/bin/sh', '-c', `ulimit -n ${FILES_MAX} && exec "$0" dist/main.js serve "$@"`, process.execPath] as const;
    weir = await startWeir({ config: CONFIG, command, env: { BACKEND_TYPE: 'memory' } });
  });

  afterAll(async () => {
    for (const socket of sockets) socket.destroy();
    await weir.stop();
  });

  it('the start logs how many connections are accepted, and which limit raises that', () => {
    expect(weir.output()).toMatch(
      /the limit on open files is 128: Weir accepts at most \d+ gRPC and \d+ HTTP connections.*raise the limit \(ulimit -n/,
    );
  });

  it.each<['gRPC' | 'HTTP', () => number, RegExp]>([
    ['gRPC', () => weir.grpcPort, /closed a connection to the gRPC port \(too_many\)/g],
    [
      'HTTP',
      () => weir.httpPort,
      /closed an idle connection to the HTTP port for a new one, or the new one if none was idle: \d+ are open, which is its maximum/g,
    ],
  ])(
    'a flood of %s connections is one line of the log, and leaves the files that health checks and calls need',
    async (name, port, line) => {
      const client = new RlsClient(weir.grpcPort);
      await client.ask('d', [{ entries: { k: 'v' } }]);
      const flood = Array.from({ length: 2 * FILES_MAX }, () => connect(port(), '127.0.0.1').on('error', () => undefined));
      sockets.push(...flood);
      await Promise.all(flood.map((socket) => Promise.race([once(socket.resume(), 'close'), once(socket, 'connect')])));
      await until(() => (weir.output().match(line) ?? []).length === 1);
      expect((await client.ask('d', [{ entries: { k: 'v' } }])).overall_code).toBe(1);
      expect((await httpRequest(`http://127.0.0.1:${weir.debugPort}/rlconfig`)).status).toBe(200);
      if (name === 'gRPC') expect((await httpRequest(`http://127.0.0.1:${weir.httpPort}/healthcheck`)).status).toBe(200);
      expect(weir.output().match(line)).toHaveLength(1);
      client.close();
      for (const socket of flood) socket.destroy();
    },
  );
});

describe('the memory of bodies', () => {
  const BODY_BYTES = 1024 * 1024;
  const BODIES = 300;
  const BUDGET_BYTES = 64 * 1024 * 1024;

  it('all unfinished bodies together take 64 MiB, others are answered 503, and the memory is freed', async () => {
    const weir = await startWeir({ config: CONFIG, env: { BACKEND_TYPE: 'memory' } });
    const before = await residentBytes(weir);
    const sockets: Socket[] = [];
    let refused = 0;
    const head = `POST /json HTTP/1.1\r\nhost: weir\r\ncontent-length: ${BODY_BYTES}\r\n\r\n{"domain":"`;
    const part = Buffer.alloc(BODY_BYTES - 100, 'x');
    await Promise.all(
      Array.from({ length: BODIES }, async () => {
        const socket = connect(weir.httpPort, '127.0.0.1');
        sockets.push(socket);
        socket.on('error', () => undefined);
        socket.on('data', (data: Buffer) => {
          if (data.toString().startsWith('HTTP/1.1 503')) refused += 1;
        });
        await once(socket, 'connect');
        socket.write(head);
        await new Promise((resolve) => socket.write(part, resolve));
      }),
    );
    await until(() => refused >= BODIES - BUDGET_BYTES / BODY_BYTES);
    // The sockets hold some beside. Without a budget it would be all 300 MiB.
    expect((await residentBytes(weir)) - before).toBeLessThan(3 * BUDGET_BYTES);
    expect((await httpRequest(`http://127.0.0.1:${weir.httpPort}/healthcheck`)).status).toBe(200);
    for (const socket of sockets) socket.destroy();
    await until(async () => (await httpRequest(`http://127.0.0.1:${weir.httpPort}/json`, { body: HITS })).status === 200);
    const largest = `{"domain":"d","descriptors":[${Array.from({ length: 16 }, () => `{"entries":[{"key":"k","value":"${'v'.repeat(60 * 1024)}"}]}`).join(',')}]}`;
    await until(async () => (await httpRequest(`http://127.0.0.1:${weir.httpPort}/json`, { body: largest })).status === 200);
    await weir.stop();
  });
});

describe('endpoints that settings switch off', () => {
  it('JSON_REFUNDS_ENABLED=false answers negative hits 403 without a refund; gRPC still accepts them', async () => {
    const weir = await startWeir({ config: CONFIG, env: { BACKEND_TYPE: 'memory', JSON_REFUNDS_ENABLED: 'false' } });
    const json = (body: unknown) => httpRequest(`http://127.0.0.1:${weir.httpPort}/json`, { body });
    expect(JSON.parse((await json(HITS)).body)).toMatchObject({ statuses: [{ limitRemaining: 997 }] });
    const refused = await json(REFUND);
    expect([refused.status, refused.body]).toEqual([
      403,
      'negative hits are not accepted on this port (JSON_REFUNDS_ENABLED is false); send them over gRPC\n',
    ]);
    const client = new RlsClient(weir.grpcPort);
    expect((await client.ask('d', [{ entries: { k: 'v' } }])).statuses[0]!.limit_remaining).toBe(996);
    await client.ask('d', [{ entries: { k: 'v' }, hits_addend: { value: '4' }, is_negative_hits: true }]);
    expect((await client.ask('d', [{ entries: { k: 'v' } }])).statuses[0]!.limit_remaining).toBe(999);
    client.close();
    await weir.stop();
  });

  it('JSON_ENABLED and HTTP_RESERVATIONS_ENABLED switch their paths to 404, and /healthcheck stays', async () => {
    const weir = await startWeir({
      config: CONFIG,
      env: { BACKEND_TYPE: 'memory', JSON_ENABLED: 'false', HTTP_RESERVATIONS_ENABLED: 'false' },
    });
    const statusOf = async (path: string, body?: unknown) =>
      (await httpRequest(`http://127.0.0.1:${weir.httpPort}${path}`, { body })).status;
    expect(await statusOf('/json', HITS)).toBe(404);
    expect(await statusOf('/v1/reservations', {})).toBe(404);
    expect(await statusOf('/v1/reservations/a:commit', {})).toBe(404);
    expect(await statusOf('/healthcheck')).toBe(200);
    const client = new RlsClient(weir.grpcPort);
    expect((await client.ask('d', [{ entries: { k: 'v' } }])).overall_code).toBe(1);
    client.close();
    await weir.stop();
  });
});

async function residentBytes({ debugPort }: WeirProcess): Promise<number> {
  const { body } = await httpRequest(`http://127.0.0.1:${debugPort}/metrics`);
  return Number(/^process_resident_memory_bytes (\S+)$/m.exec(body)![1]);
}
