/** Each change of docs/tenants.md is in force in every worker within a second, under load and without a failed call. */

import { httpRequest } from '../../support/clients/http-client';
import { until } from '../../support/clock/until';
import { figure } from '../../support/docs/figure';
import { bearer, otherKey, tokenOf } from '../chain/tokens';
import { startFleet, type Fleet } from './fleet';
import { startLoad, type Load } from './load';
import { openLookouts, type Lookouts, type Sighting } from './lookouts';
import { expectShown, printsAsShown, stepsOfPage, type Step } from './page';

const STARTED_WITHIN_MS = 80_000;
const MINUTE_MS = 60_000;
const FREE = 100;
const RAISED = 300;
const CREDIT = 50;

/** Changes beside those of the page, for the figures. */
const FURTHER_CHANGES = 15;

/** Commands that change nothing are repeated until they print what the page shows: top keys need seconds to be counted. */
const READS = /^weir (?:top|bucket (?:explain|show)|audit|instances|tenant list)\b/;
const SHOWN_WITHIN_MS = 40_000;

/** What the changes of the page lead to: the limit of a merchant in every worker. */
const EFFECTS: readonly (readonly [command: RegExp, merchant: string, limit: number])[] = [
  [/^weir override set/, 'merchant_42', RAISED],
  [/^weir tenant set(?!.*--dry-run)/, 'merchant_9', 5_000],
  [/^weir block set/, 'merchant_13', 0],
  [/^weir block delete/, 'merchant_13', FREE],
];

let fleet: Fleet;
let lookouts: Lookouts;
let load: Load;
let startMs: number;
let reachedBefore: number;
const sightings: Sighting[] = [];

beforeAll(async () => {
  fleet = await startFleet();
  lookouts = await openLookouts(fleet.instances);
  startMs = performance.now();
  reachedBefore = fleet.backendRequests();
  load = startLoad(fleet.paymentUrl, { merchant_42: 4, merchant_9: 1, merchant_13: 1, merchant_7: 1 });
}, STARTED_WITHIN_MS);

afterAll(async () => {
  await load.stop();
  lookouts.close();
  await fleet.stop();
});

async function shows(step: Step): Promise<void> {
  let printed = '';
  await until(
    async () => {
      const { stdout, stderr } = await fleet.sh(step.command);
      printed = stdout + stderr;
      return printsAsShown(printed, step);
    },
    { timeoutMs: SHOWN_WITHIN_MS },
  ).catch(() => undefined);
  expectShown(printed, step);
}

async function changes(step: Step): Promise<{ readonly versionUs: number }> {
  const { stdout, stderr } = await fleet.sh(step.command);
  expect(stderr).toBe('');
  expectShown(stdout, step);
  return { versionUs: Number(/version (\d{16})/.exec(stdout)?.[1] ?? NaN) };
}

const steps = stepsOfPage();

test('the page has a command for each part of the story', () => {
  const words = new Set(steps.map(({ command }) => command.split(' ').slice(0, 3).join(' ')));
  for (const each of ['weir top denied', 'weir bucket explain', 'weir override set', 'weir tenant set', 'weir block delete'])
    expect(words).toContain(each);
  for (const [command] of EFFECTS) expect(steps.filter((step) => command.test(step.command))).toHaveLength(1);
});

test.each(steps)('$command', async (step) => {
  if (READS.test(step.command)) return shows(step);
  const [, merchant, limit] = EFFECTS.find(([command]) => command.test(step.command)) ?? [];
  if (merchant === undefined || limit === undefined) {
    await changes(step);
    return;
  }
  sightings.push(...(await lookouts.see(merchant, limit, () => changes(step))));
});

test('each change is in force in all six workers within a second, under load, without a failed call', async () => {
  for (let i = 0; i < FURTHER_CHANGES; i += 1) {
    const limit = RAISED - 1 - i;
    const body = {
      entries: [{ key: 'merchant', value: 'merchant_42' }],
      limit: { name: 'free_plan', requests_per_unit: limit, unit: 'minute' },
    };
    const change = async () => {
      const { json } = await fleet.admin({ method: 'PUT', path: '/v1/overrides/payments/sale-42', body });
      return { versionUs: (json as { readonly version: number }).version };
    };
    sightings.push(...(await lookouts.see('merchant_42', limit, change)));
  }
  const took = sightings.map(({ tookMs }) => tookMs).sort((one, other) => one - other);
  const at = (part: number) => Math.ceil(took[Math.min(took.length - 1, Math.floor(part * took.length))]!);
  figure(`in force after p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, worst ${at(1)} ms, of ${took.length} sightings`);
  expect(sightings.filter(({ tookMs, stalledMs }) => tookMs - stalledMs > 1_000)).toEqual([]);
  expect(load.failures).toEqual([]);
  expect(await fleet.failedCalls()).toBe(0);
});

test('nobody gets more than the larger limit, and what was denied never reached the service', async () => {
  await load.stop();
  const minutes = (performance.now() - startMs) / MINUTE_MS;
  const merchants = ['merchant_42', 'merchant_9', 'merchant_13', 'merchant_7'];
  for (const merchant of merchants) expect(load.of(merchant).passed).toBeGreaterThan(0);
  expect(load.of('merchant_42').passed).toBeLessThanOrEqual(RAISED * (1 + minutes) + CREDIT);
  expect(load.of('merchant_42').passed).toBeGreaterThan(RAISED);
  expect(load.of('merchant_13').passed).toBeLessThanOrEqual(FREE * (1 + minutes));
  expect(load.of('merchant_42').denied).toBeGreaterThan(0);
  expect(load.of('merchant_7').denied).toBe(0);
  const passedOfAll = merchants.reduce((sum, merchant) => sum + load.of(merchant).passed, 0);
  expect(fleet.backendRequests() - reachedBefore).toBe(passedOfAll);
  const { passed } = load.of('merchant_42');
  figure(`merchant_42: ${passed} passed, at most ${Math.floor(RAISED * (1 + minutes) + CREDIT)}`);
});

test('a caller without a valid token reaches nothing, and one with a forged header only its own limit', async () => {
  const before = fleet.backendRequests();
  const forged = { 'x-merchant': 'merchant_7' };
  for (const headers of [forged, { ...forged, authorization: `Bearer ${tokenOf({ merchant: 'merchant_7' }, otherKey())}` }])
    expect((await httpRequest(fleet.paymentUrl, { headers })).status).toBe(401);
  expect(fleet.backendRequests()).toBe(before);
  const headers = { ...bearer({ merchant: 'merchant_5' }), ...forged };
  // 20,000 a minute of merchant_7, or 100 of a merchant without a plan.
  expect((await httpRequest(fleet.paymentUrl, { headers })).headers['x-ratelimit-limit']).toMatch(/^100\b/);
});
