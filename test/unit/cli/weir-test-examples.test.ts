/** Each configuration below deploy/ has tests beside it, which pass and reach each of its rules. */

import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { examineConfig } from '../../../src/configuration/compile/compile';
import { toText } from '../../../src/domain/descriptor/byte-string';
import { rulesOf } from '../../../src/domain/rule/tree';
import { readConfiguration } from '../../../src/program/cli/configuration';
import { runTestsBeside } from '../../../src/program/cli/test/coverage';

const EXAMPLE = 'deploy/example/payments.yaml';

/** Made from the example, which the test of the generator compares. */
const COPIES = ['deploy/helm/weir/files/payments.yaml', 'deploy/kubernetes/base/config-map.yaml'];

/** The steps of docs/rollout.md: their tests are those of the change alone. */
const STEPS = 'deploy/rollout/';

/** Files of limits, and manifests with such a file in a ConfigMap. */
const CONFIGURATIONS = [
  'test/envoy/chain/limits.yaml',
  ...readdirSync('deploy', { recursive: true, encoding: 'utf8' })
    .map((name) => path.join('deploy', name))
    .filter((name) => name.endsWith('.yaml') && /^(?:domain:| {4}domain: .*\n\n? {4}descriptors:)/m.test(readFileSync(name, 'utf8')))
    .filter((name) => !COPIES.includes(name) && !name.startsWith(STEPS)),
];

test('the examples are found', () => {
  expect(CONFIGURATIONS).toEqual(expect.arrayContaining([EXAMPLE, 'deploy/tenants/payments.yaml', 'deploy/istio/sidecar.yaml']));
  expect(CONFIGURATIONS.length).toBeGreaterThan(20);
});

test.each(CONFIGURATIONS)('the tests beside %s pass, and reach each rule', async (configuration) => {
  const { options } = await readConfiguration({ path: configuration, env: {}, mergesDomains: false });
  const { ruleSet, list } = examineConfig(options);
  list.throwIfAny();
  const rules = [...ruleSet.domains.values()].flatMap(({ name, root }) =>
    Array.from(rulesOf(root), ({ rule }) => [toText(name), ...rule.path].join('.')),
  );
  const { reached, problems } = await runTestsBeside({ configuration, env: {} });
  expect(problems).toEqual([]);
  expect(rules.length).toBeGreaterThan(0);
  expect(rules.filter((rule) => !reached.has(rule))).toEqual([]);
});
