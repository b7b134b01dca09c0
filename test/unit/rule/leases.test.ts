/** A limit has its own `leases`, else those of its domain, also where values of a request or of an operator replace it. */

import { toGroup } from '../../../src/domain/bucket/to-group';
import { explainRequest } from '../../../src/configuration/explain/explanation';
import { describeRules } from '../../../src/configuration/source/describe-rules';
import { isRateLimit } from '../../../src/domain/rule/limit';
import { matchRequest } from '../../../src/domain/rule/match';
import { replaceValues, tryValues } from '../../../src/domain/rule/replace-values';
import { formatExplanation } from '../../../src/program/cli/explain/explanation-text';
import { entriesOf, requestOf } from '../../support/decisions/rules';
import { compileText } from '../compile/compile-config';

const MODES = { shadow: false, quota: false };
const OVERRIDE = { requestsPerUnit: 1, unit: 'hour', unitMultiplier: 1 } as const;

function rulesOf(root: string, own: string) {
  return compileText(`domain: d\n${root}descriptors: [{ key: k, rate_limit: { unit: day, requests_per_unit: 5${own} } }]\n`);
}

/** As the store gets them. */
function leasesOf(root: string, own: string, parts: Parameters<typeof requestOf>[0][number] = { entries: entriesOf('k=v') }): unknown[] {
  const request = requestOf([parts]);
  const matched = matchRequest({ ruleSet: rulesOf(root, own), request, modes: MODES });
  const { takes } = toGroup({ request, matched, keyPrefix: '', shadow: false, nowUs: () => 1_800_000_000_000_000 });
  return takes.map(({ limit }) => limit.leases);
}

test.each([
  ['', '', undefined],
  ['', ', leases: auto', 'auto'],
  ['leases: auto\n', '', 'auto'],
  ['leases: auto\n', ', leases: off', 'off'],
  ['leases: auto\n', ', calendar: true', 'auto'],
])('after "%s" a limit with "%s" has %s', (root, own, leases) => {
  expect(leasesOf(root, own)).toEqual([leases]);
});

test('overrides of a request, and records of control data, keep them; candidates have none', () => {
  expect(leasesOf('', ', leases: auto', { entries: entriesOf('k=v'), override: OVERRIDE })).toEqual(['auto']);
  expect(leasesOf('leases: auto\n', '', { entries: entriesOf('other=v'), override: OVERRIDE })).toEqual(['auto']);
  const { matches } = matchRequest({
    ruleSet: rulesOf('leases: auto\n', ''),
    request: requestOf([{ entries: entriesOf('k=v') }]),
    modes: MODES,
  });
  const [limit] = (matches[0]?.limits ?? []).filter(isRateLimit);
  const tried = tryValues(limit!, OVERRIDE);
  expect([replaceValues(limit!, OVERRIDE)?.leases, tried?.leases, tried?.candidate?.leases]).toEqual(['auto', 'auto', undefined]);
});

test('/rlconfig and weir explain show them', () => {
  const ruleSet = rulesOf('leases: auto\n', '');
  expect(describeRules(ruleSet)).toEqual([expect.stringContaining(', leases: auto')]);
  const request = requestOf([{ entries: entriesOf('k=v') }]);
  const common = { levels: new Map(), plans: new Map(), modes: MODES, keyPrefix: '', nowUs: () => 0 };
  expect(formatExplanation(explainRequest({ ruleSet, request, ...common }))).toContain('5 at once, leases auto\n');
});
