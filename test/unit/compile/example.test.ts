/** The example configuration limits requests as its comments say. */

import { findNode } from '../../../src/domain/rule/tree';
import { compileConfig } from './compile-config';
import { readConfigFiles } from '../../../src/configuration/source/files/config-files';
import type { Limit } from '../../../src/domain/rule/limit';
import type { RuleSet } from '../../../src/domain/rule/rule-set';

let ruleSet: RuleSet;

beforeAll(async () => {
  const read = await readConfigFiles({ kind: 'path', path: 'deploy/example/payments.yaml' });
  ruleSet = compileConfig({ ...read, defaultAlgorithm: 'token_bucket', generation: 1 });
});

function limitOf(descriptor: Readonly<Record<string, string>>): Limit | undefined {
  const root = ruleSet.domains.get('payments')?.root;
  const entries = Object.entries(descriptor).map(([key, value]) => ({ key, value }));
  return root && findNode(root, entries)?.rule?.limits[0];
}

describe('deploy/example/payments.yaml', () => {
  test.each([
    { descriptor: { endpoint: '/payment' }, requestsPerUnit: 10_000, unit: 'second', capacity: 10_000 },
    { descriptor: { plan: 'free', merchant: 'corner-shop' }, requestsPerUnit: 100, unit: 'minute', capacity: 100 },
    { descriptor: { plan: 'enterprise', merchant: 'globex' }, requestsPerUnit: 5000, unit: 'minute', capacity: 5000 },
    { descriptor: { plan: 'enterprise', merchant: 'acme' }, requestsPerUnit: 20_000, unit: 'minute', capacity: 20_000 },
    { descriptor: { plan: 'free', merchant: 'acme' }, requestsPerUnit: 100, unit: 'minute', capacity: 100 },
    { descriptor: { plan: 'trial', merchant: 'm' }, requestsPerUnit: 20, unit: 'minute', capacity: 20 },
    { descriptor: { path: '/search', client: '192.0.2.1' }, requestsPerUnit: 10, unit: 'second', capacity: 100 },
    { descriptor: { path: '/login', client: '192.0.2.1' }, requestsPerUnit: 5, unit: 'minute', capacity: 5 },
    { descriptor: { path: '/payment', client: '192.0.2.1' }, requestsPerUnit: 1, unit: 'minute', capacity: 3 },
  ])('the example limits $descriptor', ({ descriptor, ...limit }) => {
    expect(limitOf(descriptor)).toMatchObject({ ...limit, algorithm: 'token_bucket' });
  });

  test.each([{ plan: 'free' }, { path: '/other', client: 'c' }, { client: 'c', path: '/login' }])(
    'the example does not limit %j',
    (descriptor) => {
      expect(limitOf(descriptor)).toBeUndefined();
    },
  );
});
