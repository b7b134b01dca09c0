/** `match: cidr` gives each address the descriptor and bucket of its range. */

import { bucketKey } from '../../../src/domain/bucket/bucket-key';
import type { Limit } from '../../../src/domain/rule/limit';
import { matchRequest } from '../../../src/domain/rule/match';
import { entriesOf } from '../../support/decisions/rules';
import { compileText, problemsOf } from './compile-config';

const LIMIT = 'rate_limit: { unit: hour, requests_per_unit: 5 }';

function keyOf(text: string, value: string): string | undefined {
  const ruleSet = compileText(text);
  const request = { domain: 'd', descriptors: [{ entries: entriesOf(`ip=${value}`) }], hits: 1 };
  const { matches } = matchRequest({ ruleSet, request, modes: { shadow: false, quota: false } });
  const [match] = matches;
  const limit: Limit | undefined = match?.limits[0];
  const entries = entriesOf(`ip=${value}`);
  return limit && `${match!.path.join(' ')} ${bucketKey({ prefix: '', domain: 'd', entries, limit, shared: match!.rule?.shareThreshold })}`;
}

const file = (...descriptors: readonly string[]) =>
  `domain: d\ndescriptors:\n${descriptors.map((each) => `  - { key: ip, ${each}, ${LIMIT} }\n`).join('')}`;

const ALL = file(
  'value: "*"',
  'value: 10.0.0.0/8, match: cidr',
  'value: 10.1.0.0/16, match: cidr, share_threshold: true',
  'value: 10.1.2.3',
  'value: "2001:db8::/32", match: CIDR',
);

test.each([
  ['10.1.2.3', 'ip_10.1.2.3 1{d}fw3600|ip=10.1.2.3'],
  ['10.1.2.4', 'ip_10.1.0.0/16 1{d}fw3600|ip=~10.1.0.0/16'],
  ['::ffff:10.1.2.4', 'ip_10.1.0.0/16 1{d}fw3600|ip=~10.1.0.0/16'],
  ['10.2.0.1', 'ip_10.0.0.0/8 1{d}fw3600|ip=10.2.0.1'],
  ['2001:db8::5', 'ip_2001:db8::/32 1{d}fw3600|ip=2001:db8::5'],
  ['192.0.2.1', 'ip_* 1{d}fw3600|ip=192.0.2.1'],
  ['ann', 'ip_* 1{d}fw3600|ip=ann'],
])('an exact value wins, then the longest prefix, then a wildcard: %s', (value, key) => {
  expect(keyOf(ALL, value)).toBe(key);
});

test('a value of the same text has another bucket than the range that all share', () => {
  const [range, text] = ['value: 10.0.0.0/8, match: cidr, share_threshold: true', 'value: 10.0.0.0/8'];
  expect(keyOf(file(range), '10.0.0.0/8')).toBe('ip_10.0.0.0/8 1{d}fw3600|ip=~10.0.0.0/8');
  expect(keyOf(file(range, text), '10.0.0.0/8')).toBe('ip_10.0.0.0/8 1{d}fw3600|ip=10.0.0.0/8');
});

test('a range that is spelled in two ways is given twice', () => {
  expect(problemsOf(file('value: "2001:db8::/32", match: cidr', 'value: "2001:0DB8:0::/32", match: cidr'))).toEqual([
    'c.yaml:4:5: descriptors[1]: key "ip" with value "2001:0DB8:0::/32" is configured twice here: on line 3 and on line 4; merge them',
  ]);
});

test.each([
  ['key: "i*", value: 10.0.0.0/8', 'descriptors[0].match: needs a key without a *; name the key, or remove match'],
  ['key: ip', 'descriptors[0].match: needs a value with an address range, such as 10.0.0.0/8 or 2001:db8::/32'],
  ['key: ip, value: 10.0.0.0/40', 'descriptors[0].value: "10.0.0.0/40" is not an address range; write it as 10.0.0.0/8 or 2001:db8::/32'],
  ['key: ip, value: "10.0.*"', 'descriptors[0].value: "10.0.*" is not an address range; write it as 10.0.0.0/8 or 2001:db8::/32'],
  ['key: ip, value: 10.0.0.1/8', 'descriptors[0].value: "10.0.0.1/8" has bits beyond its prefix; write 10.0.0.0/8 for the range'],
])('%s is refused', (fields, says) => {
  const [line = ''] = problemsOf(`domain: d\ndescriptors: [{ ${fields}, match: cidr, ${LIMIT} }]\n`);
  expect(line.replace(/^c\.yaml:\d+:\d+: /, '')).toBe(says);
});
