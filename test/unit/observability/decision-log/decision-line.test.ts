/** A line of the decision log is JSON that says what was asked and what was decided; values that are to be hashed never stand in it. */

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { readSettings } from '../../../../src/configuration/settings/table/settings';
import { toByteString, toText } from '../../../../src/domain/descriptor/byte-string';
import type { RateLimitRequest } from '../../../../src/domain/descriptor/descriptor';
import { NOTHING_TAKEN, toDecision } from '../../../../src/domain/decide/to-decision';
import type { GroupVerdict } from '../../../../src/domain/bucket/take';
import { matchRequest } from '../../../../src/domain/rule/match';
import type { RuleSet } from '../../../../src/domain/rule/rule-set';
import type { DecidedRequest } from '../../../../src/domain/respond/decided/decided-request';
import { DecisionLine, type DecisionField } from '../../../../src/server/observability/decision-log/decision-line';
import { HashedValues } from '../../../../src/server/observability/decision-log/hashed-values';
import { fits, markedVerdicts, over } from '../../../support/decisions/decided-request';
import { entriesOf, requestOf } from '../../../support/decisions/rules';
import { randomFrom, seededInFull } from '../../../support/random/random';
import { compileText } from '../../compile/compile-config';

const FIELDS = readSettings({}).decisionLogFields;
const SECRET = 'a secret of the test';
const AT_US = Date.UTC(2026, 10, 23, 23, 59, 50) * 1_000 + 123_456;

const RULES = compileText(`domain: d
descriptors:
  - key: path
    value: /payment
    descriptors: [{ key: client, rate_limit: { unit: minute, requests_per_unit: 5 } }]
  - { key: client, value: 10.0.0.7, rate_limit: { unit: minute, requests_per_unit: 5 } }
  - { key: 'net*', value: 'a*', rate_limit: { unit: minute, requests_per_unit: 5 } }
  - { key: plain, rate_limit: { unit: minute, requests_per_unit: 5 } }
  - { key: free, rate_limit: { unlimited: true } }
`);

interface Said {
  readonly verdict?: Partial<GroupVerdict>;
  readonly ruleSet?: RuleSet;
}

function decidedOf(request: RateLimitRequest, { verdict = {}, ruleSet = RULES }: Said = {}): DecidedRequest {
  const matched = matchRequest({ ruleSet, request, modes: { shadow: false, quota: false } });
  const verdicts = markedVerdicts(matched.matches, verdict.verdicts ?? []);
  const whole = { ...NOTHING_TAKEN, nowUs: AT_US, overLimit: verdicts.some((each) => !each.fits), ...verdict, verdicts };
  return { request, matched, verdict: whole, decision: toDecision(matched, whole, () => AT_US) };
}

function lineOf(decided: DecidedRequest, options: { fields?: readonly DecisionField[]; sample?: number; hashed?: readonly string[] } = {}) {
  const { fields = FIELDS, sample = 1, hashed } = options;
  const line = new DecisionLine({ fields, sample, hashed: hashed && new HashedValues({ secret: SECRET, keys: hashed }) });
  return toText(line.of(decided));
}

test('the fields of a denial: those of its limit, and what only the request said', () => {
  const request = requestOf(
    [
      { entries: entriesOf('path=/payment', 'client=10.0.0.9') },
      { entries: entriesOf('plain=x'), hits: 3 },
      { entries: entriesOf('plain=y'), override: { requestsPerUnit: 7, unit: 'hour', unitMultiplier: 2 } },
      { entries: entriesOf('plain=z'), hits: 0, override: { requestsPerUnit: 7, unit: 'day', unitMultiplier: 1 } },
    ],
    { hits: 2 },
  );
  const decided = decidedOf(request, { verdict: { verdicts: [fits(1), over(2_000_000, 3), over(9_000_000, 4), fits(2)] } });
  expect(lineOf(decided)).toBe(
    '{"time":"2026-11-23T23:59:50.123456Z","domain":"d","descriptors":[' +
      '{"entries":[{"key":"path","value":"/payment"},{"key":"client","value":"10.0.0.9"}]},' +
      '{"entries":[{"key":"plain","value":"x"}],"hits":3},' +
      '{"entries":[{"key":"plain","value":"y"}],"limit":{"requests_per_unit":7,"unit":"hour","unit_multiplier":2}},' +
      '{"entries":[{"key":"plain","value":"z"}],"hits":0,"limit":{"requests_per_unit":7,"unit":"day"},"check":true}' +
      '],"hits":2,"code":"OVER_LIMIT","rule":"d.plain","remaining":0,"decided_by":"store"}',
  );
});

test.each([
  ['the least remaining of several that fit', ['plain=a', 'path=/payment,client=b'], [fits(4), fits(3)], 'd.path_/payment.client', 3],
  ['one without a limit', ['free=a'], [], 'd.free', undefined],
  ['one with a limit, behind one without', ['free=a', 'plain=b'], [fits(4)], 'd.plain', 4],
  ['none that a rule matches', ['unknown=a'], [], undefined, undefined],
] as const)('the rule is that of %s', (_, asked, verdicts, rule, remaining) => {
  const request = requestOf(asked.map((each) => ({ entries: entriesOf(...each.split(',')) })));
  expect(JSON.parse(lineOf(decidedOf(request, { verdict: { verdicts } })))).toEqual(
    expect.objectContaining({ code: 'OK', ...(rule && { rule }), ...(remaining !== undefined && { remaining }) }),
  );
  if (rule === undefined) expect(lineOf(decidedOf(request))).not.toContain('"rule"');
  if (remaining === undefined) expect(lineOf(decidedOf(request))).not.toContain('"remaining"');
});

test.each([
  ['store', { verdicts: [fits(1)] }],
  ['fallback', { verdicts: [fits(1)], fallback: true }],
  ['cache', { verdicts: [over(1)], cached: true }],
  ['lease', { verdicts: [fits(1)], leased: true }],
  // The leases had hits for a part of it, and the store denied it.
  ['store', { verdicts: [over(1)], leased: true }],
] as const)('decided by: %s', (by, verdict) => {
  const line = lineOf(decidedOf(requestOf([{ entries: entriesOf('plain=x') }]), { verdict }));
  expect(JSON.parse(line)).toMatchObject({ decided_by: by });
});

test('a block is named, and nothing is asked for what has no limit', () => {
  const free = decidedOf(requestOf([{ entries: entriesOf('free=x') }]));
  expect(JSON.parse(lineOf(free))).toMatchObject({ decided_by: 'none' });
  expect(JSON.parse(lineOf({ ...free, matched: { ...free.matched, blocked: true } }))).toMatchObject({ decided_by: 'block' });
});

test('any bytes of a caller make one line of JSON, with U+FFFD for those that UTF-8 does not have', () => {
  const random = randomFrom(seededInFull(500));
  const line = new DecisionLine({ fields: FIELDS, sample: 1 });
  const bytesOf = () => String.fromCharCode(...Array.from({ length: random(12) }, () => random(256)));
  for (let i = 0; i < 500; i += 1) {
    const text = i % 2 === 0 ? bytesOf() : toByteString('ü\u2028"\\\n€😀'.slice(0, random(9)));
    const request = requestOf([{ entries: [{ key: text, value: bytesOf() }] }], { domain: text });
    const written = line.of(decidedOf(request));
    expect(written).toMatch(/^[^\n\r\0]+$/);
    expect(JSON.parse(toText(written))).toMatchObject({
      domain: toText(text),
      descriptors: [{ entries: [{ key: toText(text), value: toText(request.descriptors[0]!.entries[0]!.value) }] }],
    });
  }
});

test('a request that recurs has the same line each time, except for its time', () => {
  const line = new DecisionLine({ fields: FIELDS, sample: 1, hashed: new HashedValues({ secret: SECRET, keys: ['client'] }) });
  const request: RateLimitRequest = { ...requestOf([{ entries: entriesOf('path=/payment', 'client=10.0.0.9') }]), recurs: true };
  const [first, second, later] = [0, 0, 1_000_000 - 123_456].map((afterUs) =>
    line.of(decidedOf(request, { verdict: { verdicts: [fits(1)], nowUs: AT_US + afterUs } })),
  );
  expect(second).toBe(first);
  expect(later).toBe(first?.replace('50.123456', '51.000000'));
  expect(first).toContain('"hashed":true');
});

test('only the chosen fields are there, and the sample where it is not all', () => {
  const decided = decidedOf(requestOf([{ entries: entriesOf('plain=x') }]), { verdict: { verdicts: [fits(1)] } });
  expect(lineOf(decided, { fields: ['code', 'remaining'], sample: 0.25 })).toBe(
    '{"time":"2026-11-23T23:59:50.123456Z","code":"OK","remaining":1,"sample":0.25}',
  );
  expect(lineOf(decided, { fields: [] })).toBe('{"time":"2026-11-23T23:59:50.123456Z"}');
});

test.each([
  ['a value', ['plain=10.0.0.7', 'client=10.0.0.7'], ['plain', 'client'], 2],
  ['a value that the rule names', ['client=10.0.0.7'], ['client'], 2],
  ['a value of a key with a star', ['network=a10.0.0.7'], ['network'], 2],
  ['a value of an override without a rule', ['other=10.0.0.7'], ['*'], 1],
  ['every value', ['other=10.0.0.7'], ['*'], 1],
] as const)('%s that is hashed does not stand in the line', (_, asked, hashed, hashes) => {
  const override = { requestsPerUnit: 7, unit: 'hour', unitMultiplier: 1 } as const;
  const request = requestOf(asked.map((each) => ({ entries: entriesOf(each), ...(each.startsWith('other') && { override }) })));
  const line = lineOf(decidedOf(request, { verdict: { verdicts: asked.map(() => fits(1)) } }), { hashed });
  expect(line).not.toContain('10.0.0.7');
  expect(line).not.toContain('_a*');
  expect(line).toContain('"hashed":true');
  expect(line.match(/hmac:[0-9a-f]{16}/g)).toHaveLength(hashes);
});

test('hashes are those of HMAC-SHA-256 with the secret; other keys stay as they are, and are not called hashed', () => {
  const line = lineOf(decidedOf(requestOf([{ entries: entriesOf('client=10.0.0.7') }])), { hashed: ['client'] });
  // printf %s 10.0.0.7 | openssl dgst -sha256 -hmac 'a secret of the test'
  expect(line).toContain('"value":"hmac:a881be2f9b2a23d9"');
  expect(lineOf(decidedOf(requestOf([{ entries: entriesOf('plain=10.0.0.7') }])), { hashed: ['client'] })).not.toContain('hashed');
});

test('values get equal hashes after many others', () => {
  const hashed = new HashedValues({ secret: SECRET, keys: ['*'] });
  const [first] = Array.from({ length: 12_000 }, (_, i) => hashed.of(`value ${i}`));
  expect(hashed.of('value 0')).toBe(first);
  expect(new HashedValues({ secret: `${SECRET}!`, keys: ['*'] }).of('value 0')).not.toBe(first);
});

test('long keys and values of callers are not kept after their lines', () => {
  setFlagsFromString('--expose-gc');
  const gc = runInNewContext('gc') as () => void;
  const line = new DecisionLine({ fields: FIELDS, sample: 1, hashed: new HashedValues({ secret: SECRET, keys: [toByteString('*')] }) });
  const texts = 300;
  const long = (i: number) => toByteString(`${i}${'x'.repeat(60_000)}`);
  gc();
  const before = process.memoryUsage().heapUsed;
  for (let i = 0; i < texts; i += 1) line.of(decidedOf(requestOf([{ entries: [{ key: long(i), value: long(i) }] }])));
  gc();
  // Kept, they would be 36 MB.
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(9_000_000);
});
