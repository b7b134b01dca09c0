/** No random change of a request gets more through nginx, Traefik, Caddy, HAProxy or Apache for a client at its limit. */

import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { attemptOf, shown, type Attempt } from '../envoy/attempts/attempt';
import { send } from '../envoy/attempts/caller';
import { chooseMutations, mutated, type Chosen } from '../envoy/attempts/mutations';
import { startRawBackend, type RawBackend } from '../envoy/attempts/raw-backend';
import { writeConfig } from '../support/config/temp-config';
import { figure } from '../support/docs/figure';
import { startWeir, type WeirProcess } from '../support/processes/weir-process';
import { isLong } from '../support/random/form';
import { randomFrom, seededInFull } from '../support/random/random';
import { PROXY_NAMES, startProxy, type Proxy, type ProxyName } from './proxies';

const EXAMPLE = resolve(__dirname, '..', '..', 'deploy', 'example', 'payments.yaml');
const ROUNDS = isLong ? 2000 : 80;
/** Of /payment. */
const AT_ONCE = 3;
/** A proxy that waited too long for Weir lets one request pass, and not the same one so often. */
const REPEATS = 4;

const PLAIN = attemptOf({ target: '/payment' });

const SETTINGS = { CHECK_DOMAIN: 'payments', CHECK_DESCRIPTORS: 'endpoint=path; path=path,client=client_ip' };

let weir: WeirProcess;

beforeAll(async () => {
  // Without a refill, so that time changes nothing.
  const limits = readFileSync(EXAMPLE, 'utf8')
    .replaceAll(/unit: (second|minute)/g, 'unit: year')
    .replace('10000', '1000000');
  weir = await startWeir({ config: writeConfig(limits), env: { BACKEND_TYPE: 'memory', ...SETTINGS } });
});

afterAll(async () => {
  await weir.stop();
});

/** The path in one spelling, as docs/http-check.md promises it: `%2F`, `%5C` and others stay escaped, and letters keep their case. */
function promisedPath(target: string): string {
  const [path = ''] = target.replace(/^[a-z]+:\/\/[^/]*/i, '').split(/[?#]/);
  const decoded = path.replaceAll(/%([0-9a-f]{2})/gi, (escape, code: string) => {
    const character = String.fromCharCode(parseInt(code, 16));
    return '/\\;?#%'.includes(character) || character < ' ' ? escape : character;
  });
  const kept: string[] = [];
  for (const segment of decoded.replaceAll('\\', '/').split('/')) {
    const [name = ''] = segment.split(';');
    if (name === '..') kept.pop();
    else if (name !== '' && name !== '.') kept.push(name);
  }
  return `/${kept.join('/')}`;
}

/** How a client sends one attempt. */
interface Client {
  readonly backend: RawBackend;
  readonly from: string;
  readonly port: number;
}

/** How many payments reach the service. */
async function payments({ backend, port, from }: Client, attempt: Attempt): Promise<number> {
  await send(attempt, { port, from, hasArrived: () => backend.next() });
  return backend.taken().filter(({ target }) => promisedPath(target) === '/payment').length;
}

async function escapes(client: Client, attempt: Attempt): Promise<boolean> {
  for (let n = 0; n < REPEATS; n += 1) if ((await payments(client, attempt)) === 0) return false;
  return true;
}

describe.each(PROXY_NAMES)('%s', (name: ProxyName) => {
  let proxy: Proxy;
  let client: Client;

  beforeAll(async () => {
    const backend = await startRawBackend();
    proxy = await startProxy(name, { weirPort: weir.httpPort, backendPort: backend.port });
    client = { backend, from: `127.${121 + PROXY_NAMES.indexOf(name)}.0.1`, port: Number(new URL(proxy.url).port) };
    backend.taken();
  });

  afterAll(async () => {
    await proxy.stop();
    await client.backend.stop();
  });

  test.each<[string, Partial<Attempt>]>([
    // Caddy answers it with an error of its own, before it asks Weir.
    ['an empty Host', { headers: [['host', ' ']] }],
    // HAProxy passes it on as it is.
    ['a path without a slash', { target: 'payment', headers: [] }],
  ])('a malformed request passes no limit, even if the proxy refuses it before it asks Weir: %s', async (_, malformed) => {
    const other = { ...client, from: client.from.replace(/1$/, '2') };
    for (let n = 0; n < AT_ONCE; n += 1) await payments(other, PLAIN);
    expect(await escapes(other, { ...PLAIN, ...malformed })).toBe(false);
  });

  test('no change of a request gets a payment to the service from a client at its limit', async () => {
    const { seed } = seededInFull(ROUNDS);
    const random = randomFrom({ seed });
    const means = { names: ['x-forwarded-uri', 'x-forwarded-method', 'x-forwarded-for'], others: ['127.0.0.250', 'victim'] };
    const changed = (chosen: readonly Chosen[]) => mutated(PLAIN, chosen, means);
    for (let n = 0; n < AT_ONCE; n += 1) await payments(client, PLAIN);
    const found: string[] = [];
    for (let round = 0; round < ROUNDS && found.length === 0; round += 1) {
      let chosen = chooseMutations(random);
      if ((await payments(client, changed(chosen))) === 0 || !(await escapes(client, changed(chosen)))) continue;
      for (const each of chosen) {
        const fewer = chosen.filter((other) => other !== each);
        if (await escapes(client, changed(fewer))) chosen = fewer;
      }
      found.push(`${chosen.map(({ name: kind }) => kind).join(' + ')}: ${shown(changed(chosen))}`);
    }
    expect(found).toEqual([]);
    figure(`${name}: ${ROUNDS} requests`);
  });
});
