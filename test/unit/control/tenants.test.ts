/** A tenant has the limits of its plan, keeps its used hits when the plan changes, and its own contract wins. */

import { readFileSync } from 'node:fs';
import { compileText } from '../compile/compile-config';
import { ControlData } from '../../../src/state/control/control-data';
import { keyOf, type ControlRecord } from '../../../src/state/control/control-record';
import { readRecord } from '../../../src/state/control/read-record';
import { makeShouldRateLimit } from '../../../src/should-rate-limit';
import type { DecidedRequest } from '../../../src/domain/respond/decided/decided-request';
import { MemoryStore } from '../../../src/state/store/memory/memory-store';
import { alone } from '../../support/decisions/decide-one';
import { entriesOf, requestOf } from '../../support/decisions/rules';

/** The start of a minute and of a day. */
const START_US = 1_800_057_600_000_000;

const EXAMPLE = readFileSync('deploy/tenants/payments.yaml', 'utf8');

function open(text = EXAMPLE) {
  const ruleSet = compileText(text);
  const data = new ControlData();
  let version = 0;
  let last: DecidedRequest | undefined;
  const decide = alone(
    makeShouldRateLimit({
      ruleSet: () => ruleSet,
      store: new MemoryStore({ nowUs: () => START_US, bucketsMax: 100 }),
      modes: { shadow: false, quota: false },
      control: data,
      keyPrefix: '',
      nowUs: () => START_US,
      record: (decided) => {
        last = decided;
      },
    }),
  );
  const apply = (record: ControlRecord) => {
    data.apply({ key: keyOf(record), record, version: (version += 1) });
  };
  const ask = async (hits: number, ...keys: string[]) => {
    const request = requestOf(
      keys.map((key) => ({ entries: entriesOf(key) })),
      { domain: 'payments', hits },
    );
    return decide({ ...request, recurs: true }, {});
  };
  return {
    put: (json: object) => {
      apply(readRecord({ domain: 'payments', ...json }));
    },
    remove: (kind: ControlRecord['kind'], name: string) => {
      data.apply({ key: { kind, domain: 'payments', name }, version: (version += 1) });
    },
    ask,
    /** Hits left for the merchant, under which limit. */
    left: async (merchant: string, hits = 0) => {
      const { statuses } = await ask(hits, `merchant=${merchant}`);
      return [statuses[0]?.currentLimit?.name, statuses[0]?.limitRemaining];
    },
    matched: () => last?.matched.matches[0],
  };
}

test('a merchant has the limits of its plan, one without a plan those of the default plan, and a contract wins', async () => {
  const { put, left, matched } = open();
  put({ kind: 'tenant', tenant: 'merchant_9', plan: 'enterprise' });
  put({ kind: 'tenant', tenant: 'merchant_7', plan: 'free' });
  expect(await left('merchant_42', 1)).toEqual(['free_plan', 99]);
  expect(matched()?.plan).toMatchObject({ plan: { name: 'free' }, isDefault: true });
  expect(await left('merchant_9', 1)).toEqual(['enterprise_plan', 4_999]);
  expect(matched()?.plan).toMatchObject({ plan: { name: 'enterprise' }, isDefault: false });
  expect(matched()?.limits).toHaveLength(2);
  expect(await left('merchant_7', 1)).toEqual(['contract_7', 19_999]);
  expect(matched()?.plan).toBeUndefined();
});

test('a tenant whose plan changes keeps its used hits', async () => {
  const { put, remove, left } = open();
  expect(await left('merchant_42', 60)).toEqual(['free_plan', 40]);
  put({ kind: 'tenant', tenant: 'merchant_42', plan: 'enterprise' });
  expect(await left('merchant_42', 100)).toEqual(['enterprise_plan', 4_840]);
  remove('tenant', 'merchant_42');
  expect(await left('merchant_42', 1)).toEqual(['free_plan', 0]);
});

test('the request passes both limits or is charged to none', async () => {
  const { put, ask } = open();
  put({ kind: 'tenant', tenant: 'm', plan: 'enterprise' });
  const both = ['endpoint=/pay', 'merchant=m'];
  expect((await ask(5_001, ...both)).overallCode).toBe('OVER_LIMIT');
  expect((await ask(5_000, ...both)).overallCode).toBe('OK');
  expect((await ask(1, ...both)).overallCode).toBe('OVER_LIMIT');
  put({ kind: 'tenant', tenant: 'another', plan: 'enterprise' });
  expect((await ask(5_000, 'endpoint=/pay', 'merchant=another')).overallCode).toBe('OK');
  expect((await ask(1, 'endpoint=/pay', 'merchant=other')).overallCode).toBe('OVER_LIMIT');
  expect((await ask(100, 'merchant=other')).overallCode).toBe('OK');
});

test('a plan that the configuration does not have counts as the default plan, and is named', async () => {
  const { put, left, matched } = open();
  put({ kind: 'tenant', tenant: 'm', plan: 'gold' });
  expect(await left('m', 1)).toEqual(['free_plan', 99]);
  expect(matched()?.plan).toMatchObject({ plan: { name: 'free' }, isDefault: true, unknownPlan: 'gold' });
});

test('values of control data replace the limits of a plan by name or by place, and end with their record', async () => {
  const { put, remove, left, matched } = open();
  put({ kind: 'tenant', tenant: 'm', plan: 'enterprise' });
  expect(await left('m', 10)).toEqual(['enterprise_plan', 4_990]);
  put({ kind: 'plan', plan: 'enterprise', limits: [{ requests_per_unit: 50, unit: 'minute' }] });
  expect(await left('m', 1)).toEqual(['enterprise_plan', 39]);
  expect(matched()?.plan?.hasValues).toBe(true);
  put({ kind: 'plan', plan: 'enterprise', limits: [{ name: 'enterprise_day', requests_per_unit: 30, unit: 'day' }] });
  expect(await left('m', 1)).toEqual(['enterprise_day', 18]);
  const limits = matched()?.limits;
  expect(await left('m', 1)).toEqual(['enterprise_day', 17]);
  // The same objects, so that stores fold the takes.
  expect(matched()?.limits).toBe(limits);
  remove('plan', 'enterprise');
  expect(await left('m', 1)).toEqual(['enterprise_plan', 4_986]);
});

test('values with which two limits of a plan would share a bucket have no effect', async () => {
  const { put, left, matched } = open();
  put({ kind: 'tenant', tenant: 'm', plan: 'enterprise' });
  put({ kind: 'plan', plan: 'enterprise', limits: [{ name: 'enterprise_day', requests_per_unit: 30, unit: 'minute' }] });
  expect(await left('m', 1)).toEqual(['enterprise_plan', 4_999]);
  expect(matched()?.plan?.hasValues).toBe(false);
});

test('an override of control data replaces a limit of the plan', async () => {
  const { put, left, matched } = open();
  put({ kind: 'override', id: 'o', entries: [{ key: 'merchant', value: 'm' }], limit: { requests_per_unit: 300, unit: 'minute' } });
  expect(await left('m', 1)).toEqual(['free_plan', 299]);
  expect(matched()?.control).toMatchObject([{ kind: 'override' }]);
});

test('a tenant of an unlimited plan is not counted, and without control data all have the default plan', async () => {
  const text =
    'domain: payments\nplans: { free: { rate_limit: { unit: day, requests_per_unit: 2 } }, staff: { rate_limit: { unlimited: true } } }\ndescriptors: [{ key: merchant, tenant: true, default_plan: free }]\n';
  const { put, ask } = open(text);
  put({ kind: 'tenant', tenant: 'm', plan: 'staff' });
  expect((await ask(1, 'merchant=m')).statuses[0]?.limitRemaining).toBe(4_294_967_295);
  expect((await ask(1, 'merchant=n')).statuses[0]?.limitRemaining).toBe(1);
});
