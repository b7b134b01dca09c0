/** Headers show the limits of each mode as printable ASCII, and `Retry-After` the time when the request would pass. */

import fc from 'fast-check';
import { parseList } from 'structured-headers';
import type { Header } from '../../../src/domain/decide/decision';
import { additionsFor, type AdditionOptions } from '../../../src/domain/respond/response-additions';
import { LISTED_MAX } from '../../../src/domain/respond/headers/policy-names';
import { POLICY_NAME_CHARS_MAX } from '../../../src/domain/rule/body/placeholders';
import { NO_BODY } from '../../../src/domain/rule/body/response-body';
import type { ResetForm } from '../../../src/domain/rule/limit';
import type { Rule } from '../../../src/domain/rule/rule';
import { answeredOf, fits, NEVER_FITS, over, rulesOf, type Said } from '../../support/decisions/decided-request';
import { seeded } from '../../support/random/random';
import { entriesOf, levelOf, limitOf, requestOf, ruleOf, ruleSetOf } from '../../support/decisions/rules';
import { anyText } from '../../support/random/any-text';

const OFF: AdditionOptions = {
  responseHeaders: 'off',
  headerNames: { limit: 'X-Limit', remaining: 'X-Remaining', reset: 'X-Reset' },
  headerForms: { limit: 'requests_per_unit', reset: 'seconds' },
  retryAfter: undefined,
  retryAfterMs: false,
  responseBody: NO_BODY,
  requestMetadata: false,
  decisionMetadata: false,
};

function headersOf(said: Said, options: Partial<AdditionOptions>): Readonly<Record<string, string>> {
  const add = additionsFor(rulesOf(said.rules), { ...OFF, ...options });
  return named(add?.(answeredOf(said)).headers ?? []);
}

function named(headers: readonly Header[]): Record<string, string> {
  return Object.fromEntries(headers.map(({ name, value }) => [name, value]));
}

function perMinute(requestsPerUnit: number, parts: Partial<Rule> & Parameters<typeof limitOf>[0] = {}): Rule {
  const { shadowMode = false, quotaMode = false, path = ['p'], ...limit } = parts;
  return ruleOf({ path, limits: [limitOf({ requestsPerUnit, unit: 'minute', ...limit })], shadowMode, quotaMode });
}

describe('nothing is added', () => {
  test('no headers are computed where no setting enables them', () => {
    expect(additionsFor(rulesOf({ k: ruleOf() }), OFF)).toBeUndefined();
    expect(additionsFor(rulesOf({ k: perMinute(1, { responseHeaders: 'off' }) }), OFF)).toBeUndefined();
  });

  test('a request without limits gets no headers', () => {
    const said = { rules: { k: ruleOf({ limits: [], unlimited: true }) }, verdicts: [] };
    for (const responseHeaders of ['reference', 'ietf'] as const)
      expect(headersOf(said, { responseHeaders, retryAfter: true })).toEqual({});
  });

  test('an answer without headers omits their field', () => {
    const add = additionsFor(rulesOf({ k: ruleOf() }), { ...OFF, retryAfter: true });
    expect(add?.(answeredOf({ rules: { k: ruleOf() }, verdicts: [fits(1)] }))).not.toHaveProperty('headers');
  });
});

describe('reference', () => {
  const reference = { responseHeaders: 'reference' } as const;

  test.each<[string, Said, [limit: number, remaining: number, reset: number]]>([
    ['one that fits', { rules: { a: perMinute(10) }, verdicts: [fits(4, 1)] }, [10, 4, 1]],
    [
      'the least remaining',
      { rules: { a: perMinute(10), b: perMinute(20), c: perMinute(30) }, verdicts: [fits(4), fits(3), fits(5)] },
      [20, 3, 1],
    ],
    ['the first of several with the least', { rules: { a: perMinute(10), b: perMinute(20) }, verdicts: [fits(3), fits(3)] }, [10, 3, 1]],
    [
      'the one that denies, though another has less',
      { rules: { a: perMinute(10), b: perMinute(20) }, verdicts: [fits(0), over(1_500_000, 2)] },
      [20, 0, 2],
    ],
    [
      'the one that denies, though one after it has less',
      { rules: { a: perMinute(10), b: perMinute(20) }, verdicts: [over(1_500_000, 2), fits(1)] },
      [10, 0, 2],
    ],
    [
      'the last that denies',
      { rules: { a: perMinute(10), b: perMinute(20), c: perMinute(30) }, verdicts: [over(1), over(2_000_000), fits(0)] },
      [20, 0, 2],
    ],
    [
      'a shadow limit that is over, by what remains',
      { rules: { a: perMinute(10), b: perMinute(20, { shadowMode: true }) }, verdicts: [fits(1), over(1)], overLimit: false },
      [20, 0, 1],
    ],
    [
      'a quota limit that is over, by what remains',
      {
        rules: { a: perMinute(10, { quotaMode: true }), b: perMinute(20, { quotaMode: true }) },
        verdicts: [over(5_000_000), fits(0)],
        overLimit: false,
      },
      [10, 0, 5],
    ],
    [
      'not a quota limit that is over, where another has less',
      {
        rules: { a: perMinute(10, { quotaMode: true }), b: perMinute(20, { quotaMode: true }) },
        verdicts: [over(5_000_000, 3), fits(1)],
        overLimit: false,
      },
      [20, 1, 1],
    ],
    [
      'the enforced limit that denies, though a quota limit after it denies as well',
      { rules: { a: perMinute(20), b: perMinute(5, { quotaMode: true }) }, verdicts: [over(2_000_000), over(9_000_000)] },
      [20, 0, 2],
    ],
    [
      'the first with the least remaining, where quota limits alone deny',
      {
        rules: { a: perMinute(20, { shadowMode: true }), b: perMinute(5, { quotaMode: true }) },
        verdicts: [over(2_000_000), over(9_000_000)],
      },
      [20, 0, 2],
    ],
    ['not an unlimited one', { rules: { a: ruleOf({ limits: [], unlimited: true }), b: perMinute(20) }, verdicts: [fits(7)] }, [20, 7, 1]],
    [
      'not one that is off',
      { rules: { a: perMinute(10, { responseHeaders: 'off' }), b: perMinute(20) }, verdicts: [fits(2), fits(7)] },
      [20, 7, 1],
    ],
    ['what never fits, until it is full', { rules: { a: perMinute(10) }, verdicts: [NEVER_FITS] }, [10, 0, 2]],
  ])('reference shows %s', (_what, said, [limit, remaining, reset]) => {
    expect(headersOf(said, reference)).toEqual({ 'X-Limit': String(limit), 'X-Remaining': String(remaining), 'X-Reset': String(reset) });
  });

  test('a denied request shows only limits that denied, and none if those are off', () => {
    const off = { a: perMinute(10, { responseHeaders: 'off' }), b: perMinute(20) };
    expect(headersOf({ rules: off, verdicts: [over(1_000_000), fits(7)] }, reference)).toEqual({});
    const quota = { a: perMinute(100, { quotaMode: true }), b: perMinute(5) };
    expect(headersOf({ rules: quota, verdicts: [over(9_000_000), fits(5)] }, reference)).toEqual({
      'X-Limit': '100',
      'X-Remaining': '0',
      'X-Reset': '9',
    });
  });

  test('several limits of a descriptor show the one that binds', () => {
    const rules = { a: ruleOf({ limits: [limitOf({ requestsPerUnit: 10 }), limitOf({ requestsPerUnit: 100, unit: 'hour' })] }) };
    expect(headersOf({ rules, verdicts: [fits(5), fits(2)] }, reference)).toMatchObject({ 'X-Limit': '100', 'X-Remaining': '2' });
  });

  test.each<[ResetForm, resetUs: number, shown: string]>([
    ['seconds', 1_000_001, '2'],
    ['milliseconds', 1_000_001, '1001'],
    ['milliseconds', 0, '0'],
    ['duration', 0, '0s'],
    ['duration', 19_001, '20ms'],
    ['duration', 1_500_000, '1.5s'],
    ['duration', 60_000_000, '1m0s'],
    ['duration', 360_250_000, '6m0.25s'],
    ['duration', 7_230_000_000, '2h0m30s'],
    ['epoch', 1_000_001, '1700000003'],
  ])('a reset as %s of %i µs is %s', (form, resetUs, shown) => {
    const said = { rules: { a: perMinute(10) }, verdicts: [fits(4, resetUs)] };
    const { decision, verdict, ...rest } = answeredOf(said);
    const options = { ...OFF, ...reference, headerForms: { limit: 'requests_per_unit', reset: form } } as const;
    const answered = { ...rest, decision, verdict: { ...verdict, nowUs: 1_700_000_001_000_000 } };
    expect(named(additionsFor(rulesOf(said.rules), options)?.(answered).headers ?? [])).toMatchObject({ 'X-Reset': shown });
  });

  test('a limit shows its capacity where the form asks for it', () => {
    const said = { rules: { a: perMinute(10, { burst: 25 }) }, verdicts: [fits(4)] };
    expect(headersOf(said, reference)).toMatchObject({ 'X-Limit': '10' });
    const headerForms = { limit: 'capacity', reset: 'seconds' } as const;
    expect(headersOf(said, { ...reference, headerForms })).toMatchObject({ 'X-Limit': '25' });
  });
});

describe('ietf', () => {
  const ietf = { responseHeaders: 'ietf' } as const;

  test('ietf lists every limit of every descriptor, with names and windows', () => {
    const rules = {
      a: ruleOf({
        path: ['path_/login', 'client'],
        limits: [limitOf({ name: 'burst', requestsPerUnit: 3 }), limitOf({ requestsPerUnit: 100, unit: 'hour', unitMultiplier: 2 })],
      }),
      b: perMinute(20, { name: 'minute' }),
    };
    expect(headersOf({ rules, verdicts: [fits(2, 1), fits(99, 72_000_001), fits(20, 0)] }, ietf)).toEqual({
      'RateLimit-Policy': '"burst";q=3;w=1, "path_/login.client";q=100;w=7200, "minute";q=20;w=60',
      RateLimit: '"burst";r=2;t=1, "path_/login.client";r=99;t=73, "minute";r=20;t=0',
    });
  });

  test('a limit that denies shows when its hits would fit, and so does Retry-After', () => {
    const rules = { a: perMinute(3, { name: 'a' }), b: perMinute(20, { name: 'b' }) };
    expect(headersOf({ rules, verdicts: [over(12_000_001), fits(9)] }, ietf)).toEqual({
      'RateLimit-Policy': '"a";q=3;w=60, "b";q=20;w=60',
      RateLimit: '"a";r=0;t=13, "b";r=9;t=1',
      'Retry-After': '13',
    });
  });

  test('a name stands for one limit, and another limit of that name gets a number', () => {
    const rules = { a: perMinute(1, { name: 'n' }), b: perMinute(2, { name: 'n' }), c: perMinute(3, { name: 'n#2' }) };
    expect(headersOf({ rules, verdicts: [fits(1), fits(2), fits(3)] }, ietf).RateLimit).toBe('"n";r=1;t=1, "n#2";r=2;t=1, "n#2#2";r=3;t=1');
  });

  test('a recurring request has the policies of its own limits', () => {
    const add = additionsFor(rulesOf({}), { ...OFF, ...ietf });
    for (const requestsPerUnit of [3, 4]) {
      const answered = answeredOf({ rules: { a: perMinute(requestsPerUnit, { name: 'a' }) }, verdicts: [fits(1)] });
      for (const remaining of [1, 0]) {
        const again = { ...answered, verdict: { ...answered.verdict, verdicts: [fits(remaining)] } };
        expect(named(add?.(again).headers ?? [])).toEqual({
          'RateLimit-Policy': `"a";q=${requestsPerUnit};w=60`,
          RateLimit: `"a";r=${remaining};t=1`,
        });
      }
    }
  });

  test('an override has the headers of its domain', () => {
    const request = requestOf([{ entries: entriesOf('k=v'), override: { requestsPerUnit: 5, unit: 'hour', unitMultiplier: 1 } }]);
    const ruleSet = ruleSetOf(levelOf({}));
    const domains = new Map([...ruleSet.domains].map(([name, domain]) => [name, { ...domain, responseHeaders: 'ietf' as const }]));
    const add = additionsFor({ ...ruleSet, domains }, OFF);
    expect(add).toBeDefined();
    const answered = answeredOf({ rules: {}, verdicts: [fits(4)], request });
    const matches = answered.matched.matches.map((match) => ({
      ...match,
      limits: match.limits.map((limit) => ({ ...limit, responseHeaders: 'ietf' as const })),
    }));
    expect(named(add?.({ ...answered, matched: { ...answered.matched, matches } }).headers ?? [])).toEqual({
      'RateLimit-Policy': '"k";q=5;w=3600',
      RateLimit: '"k";r=4;t=1',
    });
  });

  test(`at most ${LISTED_MAX} limits are listed, each name cut at ${POLICY_NAME_CHARS_MAX}`, () => {
    const names = Array.from({ length: LISTED_MAX + 1 }, (_, i) => String(i).padStart(POLICY_NAME_CHARS_MAX, 'n'));
    const rules = Object.fromEntries(names.map((name) => [name, perMinute(1, { name: `${name}tail` })]));
    const listed = parseList(headersOf({ rules, verdicts: names.map(() => fits(1)) }, ietf).RateLimit ?? '');
    expect(listed.map(([name]: readonly unknown[]) => name)).toEqual(names.slice(0, LISTED_MAX));
  });
});

test('each limit is shown by its own mode', () => {
  const rules = {
    a: perMinute(2, { responseHeaders: 'off' }),
    b: perMinute(1, { name: 'a', responseHeaders: 'ietf' }),
    c: perMinute(3, { responseHeaders: 'reference' }),
  };
  expect(headersOf({ rules, verdicts: [fits(0), fits(1), fits(3)] }, {})).toEqual({
    'X-Limit': '3',
    'X-Remaining': '3',
    'X-Reset': '1',
    'RateLimit-Policy': '"a";q=1;w=60',
    RateLimit: '"a";r=1;t=1',
  });
});

describe('Retry-After', () => {
  const rules = { a: perMinute(1), b: perMinute(2), c: perMinute(3, { quotaMode: true }), d: perMinute(4, { quotaMode: true }) };

  test.each<[string, Said, string | undefined]>([
    ['the longest of what is enforced', { rules, verdicts: [over(1_000_000), over(2_000_001), fits(1), fits(1)] }, '3'],
    ['the shortest of the quota, which denies together', { rules, verdicts: [fits(1), fits(1), over(9_000_000), over(4_000_000)] }, '4'],
    ['both, if both deny', { rules, verdicts: [over(1_000_000), fits(1), over(9_000_000), over(4_000_000)] }, '4'],
    ['no quota while one fits', { rules, verdicts: [over(1_000_000), fits(1), over(9_000_000), fits(1)] }, '1'],
    [
      'not the wait of a shadow limit',
      { rules: { a: perMinute(1), s: perMinute(2, { shadowMode: true }) }, verdicts: [over(1_000_000), over(9_000_000)] },
      '1',
    ],
    [
      'no quota beside a shadow limit of it, which always fits',
      {
        rules: { ...rules, d: perMinute(4, { quotaMode: true, shadowMode: true }) },
        verdicts: [over(1_000_000), fits(1), over(9_000_000), over(1)],
      },
      '1',
    ],
    [
      'nothing if enforced hits never fit: no wait makes them pass',
      { rules, verdicts: [NEVER_FITS, over(1_000_000), fits(1), fits(1)] },
      undefined,
    ],
    [
      'the wait of a quota beside one that never fits',
      { rules: { c: perMinute(3, { quotaMode: true }), d: perMinute(4, { quotaMode: true }) }, verdicts: [over(2_000_000), NEVER_FITS] },
      '2',
    ],
    [
      'nothing if no quota ever fits',
      { rules: { c: perMinute(3, { quotaMode: true }), d: perMinute(4, { quotaMode: true }) }, verdicts: [NEVER_FITS, NEVER_FITS] },
      undefined,
    ],
    ['a second at least', { rules, verdicts: [over(1), fits(1), fits(1), fits(1)] }, '1'],
    ['nothing if nothing is denied', { rules: { a: perMinute(1) }, verdicts: [over(1)], overLimit: false }, undefined],
  ])('Retry-After is %s', (_what, said, seconds) => {
    expect(headersOf(said, { retryAfter: true })['Retry-After']).toBe(seconds);
  });

  test('Retry-After comes with ietf alone by default, and never where it is switched off', () => {
    const said = { rules, verdicts: [over(1_000_000), fits(1), fits(1), fits(1)] };
    expect(headersOf(said, { responseHeaders: 'reference' })).not.toHaveProperty('Retry-After');
    expect(headersOf(said, { responseHeaders: 'ietf' })).toHaveProperty('Retry-After', '1');
    expect(headersOf(said, { responseHeaders: 'ietf', retryAfter: false })).not.toHaveProperty('Retry-After');
    expect(headersOf(said, { responseHeaders: 'off', retryAfter: true })).toEqual({ 'Retry-After': '1' });
  });
});

test('a header is printable ASCII and a valid list for any names of limits and rules', () => {
  const anything = fc.oneof(
    anyText({ maxLength: 80 }),
    fc.constantFrom('a\r\nset-cookie: b', '\0', '"', '\\', 'é', '\u{1f600}'.repeat(40)),
  );
  fc.assert(
    fc.property(anything, anything, (name, path) => {
      const headers = headersOf(
        {
          rules: { a: perMinute(9, { name, path: [path, 'client'] }), b: perMinute(9, { name, responseHeaders: 'reference' }) },
          verdicts: [over(1), over(1)],
        },
        { responseHeaders: 'ietf' },
      );
      for (const value of Object.values(headers)) expect(value).toMatch(/^[ -~]+$/);
      for (const header of ['RateLimit', 'RateLimit-Policy']) expect(parseList(headers[header] ?? '')).toHaveLength(1);
      expect(Object.keys(headers)).toEqual(['X-Limit', 'X-Remaining', 'X-Reset', 'RateLimit-Policy', 'RateLimit', 'Retry-After']);
    }),
    seeded(500),
  );
});
