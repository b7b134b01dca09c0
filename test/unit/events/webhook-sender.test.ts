/** A receiver that is slow, dead, redirecting, endless or at a private address harms nothing. */

import { createHmac, randomUUID } from 'node:crypto';
import type { lookup } from 'node:dns';
import http from 'node:http';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { isPublicAddress } from '../../../src/server/observability/events/public-address';
import { secretBytes } from '../../../src/server/observability/events/signature';
import { WebhookSender, type WebhookSenderOptions } from '../../../src/server/observability/events/webhook-sender';
import { until } from '../../support/clock/until';

const SECRET = 'a secret of at least 24 bytes';
const EVENT = { id: 'threshold.a.80', body: JSON.stringify({ specversion: '1.0', of: 'é' }) };

const closing: (() => void)[] = [];

afterEach(() => {
  for (const close of closing.splice(0)) close();
});

function senderTo(url: string, more: Partial<WebhookSenderOptions> = {}): WebhookSender {
  const sender = new WebhookSender({
    url,
    secrets: [secretBytes(SECRET)],
    timeoutMs: 2_000,
    allowsPrivate: true,
    version: '1.2.3',
    nowMs: () => 1_700_000_000_900,
    ...more,
  });
  closing.push(() => {
    sender.close();
  });
  return sender;
}

interface Asked {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly headers: http.IncomingHttpHeaders;
  readonly body: string;
}

async function receiver(answer: (response: http.ServerResponse) => void) {
  const asked: Asked[] = [];
  const server = http.createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (chunk: string) => {
      body += chunk;
    });
    request.on('end', () => {
      asked.push({ method: request.method, url: request.url, headers: request.headers, body });
      answer(response);
    });
  });
  closing.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return { asked, port: await listening(server) };
}

async function rawReceiver(onSocket: (socket: Socket) => void): Promise<number> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket.on('error', () => undefined));
    onSocket(socket);
  });
  closing.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return listening(server);
}

function listening(server: ReturnType<typeof createServer>): Promise<number> {
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      resolve((server.address() as AddressInfo).port);
    });
  });
}

test('an event is a POST with a signature that a receiver can check', async () => {
  const { asked, port } = await receiver((response) => response.writeHead(204).end());
  const old = 'whsec_' + Buffer.from('the secret that was used before').toString('base64');
  const sender = senderTo(`http://127.0.0.1:${port}/hook?key=1`, { secrets: [SECRET, old].map(secretBytes) });
  expect(await sender.send({ ...EVENT, id: 'threshold.a.80' })).toBeUndefined();
  const [{ method, url, headers, body }] = asked as [Asked];
  expect([method, url, body]).toEqual(['POST', '/hook?key=1', EVENT.body]);
  expect(headers).toMatchObject({
    'content-type': 'application/cloudevents+json; charset=utf-8',
    'webhook-id': 'threshold.a.80',
    'webhook-timestamp': '1700000000',
    'user-agent': 'weir/1.2.3',
  });
  const signatures = [SECRET, 'the secret that was used before'].map(
    (secret) => `v1,${createHmac('sha256', secret).update(`threshold.a.80.1700000000.${EVENT.body}`).digest('base64')}`,
  );
  expect(headers['webhook-signature']).toBe(signatures.join(' '));
});

test.each([200, 202, 299])('the answer %d takes an event', async (status) => {
  const { port } = await receiver((response) => response.writeHead(status).end('ok'));
  expect(await senderTo(`http://127.0.0.1:${port}/`).send({ ...EVENT, id: 'a' })).toBeUndefined();
});

test.each([
  [301, /redirect, which is not followed/],
  [307, /redirect, which is not followed/],
  [400, /the answer is 400/],
  [410, /the answer is 410/],
  [503, /the answer is 503/],
])('the answer %d does not', async (status, reason) => {
  const other = await receiver((response) => response.writeHead(200).end());
  const { port, asked } = await receiver((response) =>
    response.writeHead(status, { location: `http://127.0.0.1:${other.port}/` }).end('no'),
  );
  expect(await senderTo(`http://127.0.0.1:${port}/`).send({ ...EVENT, id: 'a' })).toMatch(reason);
  expect([asked.length, other.asked.length]).toEqual([1, 0]);
});

test('a receiver that never answers is left after the timeout, and one that drips its answer too', async () => {
  const silent = await rawReceiver(() => undefined);
  const dripping = await rawReceiver((socket) => {
    const drip = setInterval(() => socket.write('x'), 10);
    socket.on('close', () => {
      clearInterval(drip);
    });
    socket.write('HTTP/1.1 200 OK\r\nx-');
  });
  for (const port of [silent, dripping])
    expect(await senderTo(`http://127.0.0.1:${port}/`, { timeoutMs: 150 }).send({ ...EVENT, id: 'a' })).toBeDefined();
});

test('an answer without end is cut off, and its status counts', async () => {
  let isClosed = false;
  let written = 0;
  const { port } = await receiver((response) => {
    response.writeHead(200);
    const more = () => {
      written += 65_536;
      if (!isClosed) response.write(Buffer.alloc(65_536), more);
    };
    response.on('close', () => {
      isClosed = true;
    });
    more();
  });
  expect(await senderTo(`http://127.0.0.1:${port}/`).send({ ...EVENT, id: 'a' })).toBeUndefined();
  await until(() => isClosed);
  expect(written).toBeLessThan(64 * 1024 * 1024);
});

test.each([
  ['headers without end', (socket: Socket) => socket.write(`HTTP/1.1 200 OK\r\n${'x-h: y\r\n'.repeat(20_000)}`)],
  ['an answer that is not HTTP', (socket: Socket) => socket.write('SSH-2.0-OpenSSH_9.9\r\n')],
  ['a connection that is closed at once', (socket: Socket) => socket.destroy()],
])('%s do not take an event', async (_what, answer) => {
  const port = await rawReceiver((socket) => {
    answer(socket);
  });
  expect(await senderTo(`http://127.0.0.1:${port}/`).send({ ...EVENT, id: 'a' })).toBeDefined();
});

test('nobody listens at a port', async () => {
  const server = createServer();
  const port = await listening(server);
  await new Promise((resolve) => server.close(resolve));
  expect(await senderTo(`http://127.0.0.1:${port}/`).send({ ...EVENT, id: 'a' })).toMatch(/ECONNREFUSED/);
});

describe('with private addresses refused', () => {
  test.each(['127.0.0.1', '[::1]', '10.1.2.3', '169.254.169.254', '[::ffff:127.0.0.1]', '2130706433', '0x7f.1', '[fd00::1]'])(
    'the address %s is not connected to',
    async (host) => {
      const { asked, port } = await receiver((response) => response.writeHead(200).end());
      const sender = senderTo(`http://${host}:${port}/`, { allowsPrivate: false, timeoutMs: 500 });
      expect(await sender.send({ ...EVENT, id: 'a' })).toMatch(/is not a public address/);
      expect(asked).toEqual([]);
    },
  );

  test('a name that leads to a private address is not, also if it has a public one, or another at the next look', async () => {
    const { asked, port } = await receiver((response) => response.writeHead(200).end());
    const answers = [
      [{ address: '127.0.0.1', family: 4 }],
      [
        { address: '8.8.8.8', family: 4 },
        { address: '::1', family: 6 },
      ],
    ];
    let looks = 0;
    const rebinding = ((_host: string, _options: object, callback: (error: null, found: object) => void) => {
      callback(null, answers[looks % 2]!);
      looks += 1;
    }) as unknown as typeof lookup;
    const sender = senderTo(`http://${randomUUID()}.example:${port}/`, { allowsPrivate: false, lookup: rebinding });
    for (let i = 0; i < 4; i += 1) expect(await sender.send({ ...EVENT, id: 'a' })).toMatch(/is not a public address/);
    expect([looks, asked.length]).toEqual([4, 0]);
  });

  test('a name that leads to a private address is asked where that is allowed', async () => {
    const { asked, port } = await receiver((response) => response.writeHead(200).end());
    expect(await senderTo(`http://localhost:${port}/`).send({ ...EVENT, id: 'a' })).toBeUndefined();
    expect(asked).toHaveLength(1);
  });
});

test.each([
  ['8.8.8.8', true],
  ['2606:4700::1111', true],
  ['::ffff:8.8.8.8', true],
  ['100.64.0.1', false],
  ['172.31.255.255', false],
  ['172.32.0.0', true],
  ['192.168.0.1', false],
  ['0.0.0.0', false],
  ['255.255.255.255', false],
  ['224.0.0.1', false],
  ['::', false],
  ['fe80::1%eth0', false],
  ['fc00::1', false],
  ['64:ff9b::7f00:1', false],
  ['2002:7f00:1::', false],
  ['2001:db8::1', false],
  ['::7f00:1', false],
  ['', false],
  ['example', false],
])('the address %j is public: %s', (address, isPublic) => {
  expect(isPublicAddress(address)).toBe(isPublic);
});
