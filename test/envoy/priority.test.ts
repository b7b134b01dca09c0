/** Behind a real Envoy the last part of a limit is only for requests whose route or header names its class, whatever else callers send. */

import { httpRequest } from '../support/clients/http-client';
import { writeConfig } from '../support/config/temp-config';
import { startWeir, type WeirProcess } from '../support/processes/weir-process';
import { startGateway, warmUp, type Gateway } from './chain/gateway';
import { tokenOf } from './chain/tokens';

const TIMEOUT_MS = 60_000;
const CONFIG = writeConfig(`
domain: payments
algorithm: fixed_window
descriptors:
  - key: plan
    value: free
    descriptors:
      - key: merchant
        rate_limit: { unit: year, requests_per_unit: 20 }
        reserve: { entry: priority, for: { critical: 20% } }
`);

const MERCHANT = '- request_headers: {header_name: x-merchant, descriptor_key: merchant}';
const INDENT = '\n                    ';
const of = (path: string) => `descriptor_value: ${path}}
                  - actions:
                    - request_headers: {header_name: x-plan, descriptor_key: plan}
                    ${MERCHANT}`;

/** The route of searches takes the class from a header, that of payments has it by itself, that of logins has none. */
const CLASSES = {
  [of('/search')]: `${of('/search')}${INDENT}- request_headers: {header_name: x-priority, descriptor_key: priority, skip_if_absent: true}`,
  [of('/payment')]: `${of('/payment')}${INDENT}- generic_key: {descriptor_key: priority, descriptor_value: critical}`,
};

let weir: WeirProcess;
let gateway: Gateway;

beforeAll(async () => {
  weir = await startWeir({ config: CONFIG, env: { BACKEND_TYPE: 'memory' } });
  gateway = await startGateway({ weirGrpcPort: weir.grpcPort, replacements: CLASSES });
  await warmUp(gateway);
}, TIMEOUT_MS);

afterAll(async () => {
  await gateway.stop();
  await weir.stop();
});

interface Asked {
  readonly merchant: string;
  readonly priority?: string | string[];
}

async function statusOf(path: string, { merchant, priority }: Asked): Promise<number> {
  const headers = {
    authorization: `Bearer ${tokenOf({ plan: 'free', merchant })}`,
    ...(priority !== undefined && { 'x-priority': priority }),
  };
  return (await gateway.send(path, { headers })).status;
}

async function passedOf(path: string, asked: Asked, calls: number): Promise<number> {
  let passed = 0;
  for (let i = 0; i < calls; i += 1) if ((await statusOf(path, asked)) === 200) passed += 1;
  return passed;
}

test(
  'requests without a class get four fifths, and the class of a header or a route the rest',
  async () => {
    const merchant = 'm';
    expect(await passedOf('/search', { merchant }, 18)).toBe(16);
    expect(await passedOf('/login', { merchant }, 2)).toBe(0);
    expect(await passedOf('/search', { merchant, priority: 'critical' }, 3)).toBe(3);
    expect(await passedOf('/payment', { merchant }, 3)).toBe(1);
    expect(await passedOf('/search', { merchant, priority: 'critical' }, 2)).toBe(0);
    // Another bucket has a part of its own.
    expect(await passedOf('/payment', { merchant: 'other' }, 22)).toBe(20);
  },
  TIMEOUT_MS,
);

test.each<readonly [string, Asked['priority']]>([
  ['an unknown class', 'CRITICAL'],
  ['an empty class', ''],
  ['a class among others', 'low,critical'],
  ['two headers, whose first Envoy takes', ['low', 'critical']],
  ['a class of 16,000 bytes', 'critical'.repeat(2_000)],
])(
  '%s gives no part of the reserve, and no bucket of its own',
  async (name, priority) => {
    const merchant = name.replaceAll(/\W/g, '-');
    expect(await passedOf('/search', { merchant, ...(priority !== undefined && { priority }) }, 10)).toBe(10);
    expect(await passedOf('/search', { merchant }, 10)).toBe(6);
    expect(await passedOf('/search', { merchant, ...(priority !== undefined && { priority }) }, 2)).toBe(0);
    // A header does not count where the route names the class, or none.
    expect(await passedOf('/login', { merchant, priority: 'critical' }, 2)).toBe(0);
    expect(await passedOf('/payment', { merchant, priority: 'low' }, 5)).toBe(4);
  },
  TIMEOUT_MS,
);

test('/rlconfig shows the reserve', async () => {
  const { body } = await httpRequest(`http://127.0.0.1:${weir.debugPort}/rlconfig`);
  expect(body).toContain('payments.plan_free.merchant: unit=YEAR requests_per_unit=20');
  expect(body).toContain('reserve: by priority: critical 20%');
});
