/** No value of a caller leaves its place in a body, and a body promises no time if no wait helps. */

import fc from 'fast-check';
import { BODY_BYTES_MAX, NO_BODY, PROBLEM, contentBytesMax, type ResponseBody } from '../../../src/domain/rule/body/response-body';
import { VALUE_BYTES_MAX, VIOLATED_POLICIES_MAX } from '../../../src/domain/rule/body/placeholders';
import { additionsFor, type AdditionOptions } from '../../../src/domain/respond/response-additions';
import type { Decision } from '../../../src/domain/decide/decision';
import { makeInFlightLimit } from '../../../src/domain/rule/in-flight';
import type { Rule } from '../../../src/domain/rule/rule';
import { readSettings } from '../../../src/configuration/settings/table/settings';
import { answeredOf, fits, NEVER_FITS, over, rulesOf, type Said } from '../../support/decisions/decided-request';
import { seeded } from '../../support/random/random';
import { limitOf, requestOf, ruleOf } from '../../support/decisions/rules';

const OPTIONS: AdditionOptions = {
  responseHeaders: 'off',
  headerNames: { limit: 'X-Limit', remaining: 'X-Remaining', reset: 'X-Reset' },
  headerForms: { limit: 'requests_per_unit', reset: 'seconds' },
  retryAfter: undefined,
  retryAfterMs: false,
  responseBody: NO_BODY,
  requestMetadata: false,
  decisionMetadata: false,
};

/** As `RESPONSE_BODY` has it. */
function bodyOf(written: string): ResponseBody {
  return readSettings({ RESPONSE_BODY: written }).responseBody;
}

const json = (template: object): ResponseBody => bodyOf(`json:${JSON.stringify(template)}`);
const text = (template: string): ResponseBody => bodyOf(`text:${template}`);

function answer(said: Said, options: Partial<AdditionOptions>): Decision {
  const answered = answeredOf(said);
  const add = additionsFor(rulesOf(said.rules), { ...OPTIONS, ...options });
  return add === undefined ? answered.decision : add(answered);
}

function filled(said: Said, responseBody: ResponseBody, options: Partial<AdditionOptions> = {}): string | undefined {
  return answer(said, { responseBody, ...options }).body;
}

function filledJson(said: Said, template: object, options: Partial<AdditionOptions> = {}): unknown {
  return JSON.parse(filled(said, json(template), options) ?? '');
}

function perMinute(requestsPerUnit: number, parts: Partial<Rule> & Parameters<typeof limitOf>[0] = {}): Rule {
  const { shadowMode = false, quotaMode = false, path = ['p'], ...limit } = parts;
  return ruleOf({ path, limits: [limitOf({ requestsPerUnit, unit: 'minute', ...limit })], shadowMode, quotaMode });
}

const LOGINS: Said = {
  rules: { login: perMinute(3, { name: 'logins', path: ['path_/login', 'client'], burst: 5 }) },
  verdicts: [over(12_000_400, 2)],
};

describe('which answers have a body', () => {
  test('bodies cost nothing where no setting and no rule enables them', () => {
    expect(additionsFor(rulesOf(LOGINS.rules), OPTIONS)).toBeUndefined();
    expect(additionsFor(rulesOf({ k: perMinute(1, { responseBody: NO_BODY }) }), OPTIONS)).toBeUndefined();
  });

  test('an allowed answer is the same object as without bodies', () => {
    const rules = { a: perMinute(3) };
    const answered = answeredOf({ rules, verdicts: [fits(2)] });
    const add = additionsFor(rulesOf(rules), { ...OPTIONS, responseBody: PROBLEM });
    expect(add?.(answered)).toBe(answered.decision);
  });

  test('headers name the type of the body, and forbid to guess another one', () => {
    const said = LOGINS;
    const nosniff = { name: 'X-Content-Type-Options', value: 'nosniff' };
    for (const [body, type] of [
      [text('a'), 'text/plain; charset=utf-8'],
      [json({}), 'application/json'],
      [PROBLEM, 'application/problem+json'],
    ] as const)
      expect(answer(said, { responseBody: body }).headers).toEqual([{ name: 'Content-Type', value: type }, nosniff]);
  });

  test('other headers come before those of the body', () => {
    const { headers = [] } = answer(LOGINS, { responseBody: PROBLEM, responseHeaders: 'reference', retryAfter: true });
    expect(headers.map(({ name }) => name)).toEqual([
      'X-Limit',
      'X-Remaining',
      'X-Reset',
      'Retry-After',
      'Content-Type',
      'X-Content-Type-Options',
    ]);
  });

  test('a body of a limit wins over that of the setting, and off has none', () => {
    const own = (responseBody: ResponseBody): Said => ({ rules: { a: perMinute(1, { responseBody }) }, verdicts: [over(1)] });
    expect(filled(own(text('own')), text('other'))).toBe('own');
    expect(filled(own(NO_BODY), text('other'))).toBeUndefined();
    expect(filled({ rules: { a: perMinute(1) }, verdicts: [over(1)] }, text('other'))).toBe('other');
  });
});

describe('the limit that makes the client wait longest has the body', () => {
  const named = (name: string, parts: Parameters<typeof perMinute>[1] = {}): Rule => perMinute(9, { name, path: [name], ...parts });
  const NAME = text('{limit_name} {retry_after_s}');

  test.each<[string, Said, string | undefined]>([
    ['the longer wait', { rules: { a: named('a'), b: named('b') }, verdicts: [over(1_000_000), over(7_000_000)] }, 'b 7'],
    ['the first of equal waits', { rules: { a: named('a'), b: named('b') }, verdicts: [over(5_000_000), over(5_000_000)] }, 'a 5'],
    ['not one that fits', { rules: { a: named('a'), b: named('b') }, verdicts: [over(1_000_000), fits(1, 9_000_000)] }, 'a 1'],
    [
      'not a shadow limit',
      { rules: { a: named('a'), b: named('b', { shadowMode: true }) }, verdicts: [over(1_000_000), over(9_000_000)], overLimit: true },
      'a 1',
    ],
    [
      'of quotas the shortest wait',
      { rules: { a: named('a', { quotaMode: true }), b: named('b', { quotaMode: true }) }, verdicts: [over(9_000_000), over(4_000_000)] },
      'b 4',
    ],
    [
      'a limit without a body is not named, but its wait counts',
      { rules: { a: named('a'), b: named('b', { responseBody: NO_BODY }) }, verdicts: [over(1_000_000), over(7_000_000)] },
      'a 7',
    ],
    ['none has a body', { rules: { a: named('a', { responseBody: NO_BODY }) }, verdicts: [over(1_000_000)] }, undefined],
  ])('%s', (_what, said, expected) => {
    expect(filled(said, NAME)).toBe(expected);
  });

  test('a limit that never fits counts as the longest wait', () => {
    const said = { rules: { a: named('a'), b: named('b') }, verdicts: [over(900_000_000), NEVER_FITS] };
    expect(filledJson(said, { name: '{limit_name}', never: '{never_fits}' })).toEqual({ name: 'b', never: true });
  });
});

describe('placeholders', () => {
  test('a JSON text that is one placeholder becomes its value, numbers as numbers', () => {
    const template = {
      name: '{limit_name}',
      rule: '{rule}',
      limit: '{limit}',
      per: '{unit}',
      window: '{window_s}',
      capacity: '{most_at_once}',
      left: '{remaining}',
      asked: '{hits}',
      s: '{retry_after_s}',
      ms: '{retry_after_ms}',
      never: '{never_fits}',
      policies: '{violated_policies}',
      in: ['{limit} per {unit}', 7, true, null, { nested: '{limit}' }, [], {}],
      braces: '{{limit}}',
    };
    expect(filledJson(LOGINS, template)).toEqual({
      name: 'logins',
      rule: 'd.path_/login.client',
      limit: 3,
      per: 'minute',
      window: 60,
      capacity: 5,
      left: 2,
      asked: 1,
      s: 13,
      ms: 12_001,
      never: false,
      policies: ['logins'],
      in: ['3 per minute', 7, true, null, { nested: 3 }, [], {}],
      braces: '{limit}',
    });
  });

  test('retry_at_s is the time of the store plus the wait', () => {
    const { decision, ...rest } = answeredOf(LOGINS);
    const verdict = { ...rest.verdict, nowUs: 1_700_000_000_000_000 };
    const add = additionsFor(rulesOf(LOGINS.rules), { ...OPTIONS, responseBody: text('{retry_at_s}') });
    expect(add?.({ ...rest, decision, verdict }).body).toBe('1700000013');
  });

  test('an entry of the request fills in a body, the first one with the key', () => {
    const request = requestOf([
      { entries: [{ key: 'login', value: 'x' }] },
      { entries: [{ key: 'request_id', value: 'id-1' }] },
      { entries: [{ key: 'request_id', value: 'id-2' }] },
    ]);
    const said = { rules: LOGINS.rules, verdicts: LOGINS.verdicts, request };
    expect(filledJson(said, { id: '{entry.request_id}', none: '{entry.trace}' })).toEqual({ id: 'id-1', none: null });
    expect(filled(said, text('{entry.request_id} {entry.trace}'))).toBe('id-1 -');
  });

  test('hits are those of the descriptor that denies', () => {
    const request = requestOf([{ entries: [{ key: 'login', value: 'x' }], hits: 4 }], { hits: 2 });
    expect(filled({ rules: LOGINS.rules, verdicts: LOGINS.verdicts, request }, text('{hits}'))).toBe('4');
  });

  test('violated_policies names each limit that denies as the header does, and none without a body', () => {
    const rules = {
      a: perMinute(1, { name: 'same' }),
      b: perMinute(1, { name: 'same' }),
      c: perMinute(1, { name: 'hidden', responseBody: NO_BODY }),
      d: perMinute(1, { name: 'fits' }),
    };
    const said = { rules, verdicts: [over(1), over(1), over(1), fits(1)] };
    expect(filledJson(said, { v: '{violated_policies}' }, { responseHeaders: 'ietf' })).toEqual({ v: ['same', 'same#2'] });
    expect(filled(said, text('{violated_policies}'))).toBe('same');
    const many = Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`k${i}`, perMinute(1, { name: `n${i}` })]));
    const all = filledJson({ rules: many, verdicts: Array.from({ length: 40 }, () => over(1)) }, { v: '{violated_policies}' });
    expect((all as { v: string[] }).v).toHaveLength(VIOLATED_POLICIES_MAX);
  });
});

describe('a request that no wait helps', () => {
  const said: Said = { rules: { a: perMinute(3, { name: 'tokens', burst: 5 }) }, verdicts: [NEVER_FITS] };
  const SENTENCE = 'The request is larger than the limit "tokens" ever allows, which is 5 at once. A retry will not help.';

  test('a text about a wait is replaced by the reason', () => {
    expect(filled(said, text('Retry in {retry_after_s} s.'))).toBe(SENTENCE);
    expect(filled(said, text('Limit {limit}.'))).toBe('Limit 3.');
    expect(filledJson(said, { message: 'Retry in {retry_after_s} s.', after: '{retry_after_s}', at: '{retry_at_s}' })).toEqual({
      message: SENTENCE,
      after: null,
      at: null,
    });
  });

  test('never_fits has a body of its own', () => {
    const neverFits = text('At most {most_at_once}.').content;
    expect(filled(said, { ...text('{limit}'), neverFits })).toBe('At most 5.');
    expect(filled(LOGINS, { ...text('{limit}'), neverFits })).toBe('3');
  });

  test('the problem says so', () => {
    expect(JSON.parse(filled(said, PROBLEM) ?? '')).toEqual({
      type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
      title: 'Request cannot be satisfied as assigned quota has been exceeded',
      status: 429,
      detail: SENTENCE,
      'violated-policies': ['tokens'],
      'never-fits': true,
      'most-at-once': 5,
    });
    expect(JSON.parse(filled(LOGINS, PROBLEM) ?? '')).toMatchObject({
      detail: 'The limit "logins" allows 3 per minute. Retry in 13 s.',
      'violated-policies': ['logins'],
      'retry-after': 13,
    });
  });

  test('X-Should-Retry goes with the milliseconds of Retry-After, and only if no wait helps', () => {
    const headers = (of: Said, options: Partial<AdditionOptions>) =>
      (answer(of, options).headers ?? []).map(({ name, value }) => `${name}: ${value}`);
    expect(headers(said, { retryAfter: true, retryAfterMs: true })).toEqual(['X-Should-Retry: false']);
    expect(headers(said, { retryAfter: true })).toEqual([]);
    expect(headers(LOGINS, { retryAfter: true, retryAfterMs: true })).toEqual(['Retry-After: 13', 'Retry-After-Ms: 12001']);
    expect(headers(LOGINS, { retryAfterMs: true })).toEqual([]);
  });

  test.each<[string, Said, string]>([
    ['a limit of 0', { rules: { a: perMinute(0, { name: 'none' }) }, verdicts: [NEVER_FITS] }, 'The limit "none" allows no requests.'],
    [
      'a limit without a name',
      { rules: { a: perMinute(3, { path: ['path_/a', 'client'], unitMultiplier: 5 }) }, verdicts: [over(1)] },
      'The limit "path_/a.client" allows 3 per 5 minutes.',
    ],
    [
      'requests in flight',
      { rules: { a: ruleOf({ limits: [makeInFlightLimit({ max: 2, holdS: 60, name: 'slots' })] }) }, verdicts: [over(1)] },
      'The limit "slots" allows 2 requests at the same time.',
    ],
  ])('the reason names %s', (_what, of, sentence) => {
    expect(filled(of, text('{detail}'))).toMatch(new RegExp(`^${sentence.replaceAll('.', String.raw`\.`)} `));
  });
});

describe('values of callers', () => {
  function saidWith(value: string): Said {
    return { ...LOGINS, request: requestOf([{ entries: [{ key: 'login', value }] }]) };
  }

  test('quotes, line breaks and tags stay inside the text of the body', () => {
    const value = '"}\r\nx-injected: 1\0</script><b>\x7f';
    const body = filled(saidWith(value), json({ a: '{entry.login}', b: 'of {entry.login}' })) ?? '';
    expect(JSON.parse(body)).toEqual({ a: value, b: `of "}??x-injected: 1?</script><b>?` });
    expect(body).not.toMatch(/[<>&\r\n\0\x7f]/);
    expect(filled(saidWith(value), text('[{entry.login}]'))).toBe('["}??x-injected: 1?</script><b>?]');
  });

  test('invalid UTF-8 becomes U+FFFD, and long values are cut', () => {
    expect(filledJson(saidWith('a\xff\xed\xa0\x80'), { v: '{entry.login}' })).toEqual({ v: 'a\ufffd\ufffd\ufffd\ufffd' });
    expect(filledJson(saidWith('x'.repeat(5000)), { v: '{entry.login}' })).toEqual({ v: `${'x'.repeat(VALUE_BYTES_MAX)}…` });
  });

  /** Undefined: the body is refused because it may become too long. */
  function accepted<T>(make: (template: T) => ResponseBody, from: T): ResponseBody | undefined {
    try {
      return make(from);
    } catch (error) {
      expect(error).toMatchObject({ message: expect.stringContaining('may become longer') as unknown });
      return undefined;
    }
  }

  /** Templates with all placeholders and all escapes. */
  const piece = fc.oneof(
    fc.constantFrom(
      '{limit_name}',
      '{rule}',
      '{detail}',
      '{limit}',
      '{retry_after_s}',
      '{never_fits}',
      '{violated_policies}',
      '{entry.login}',
    ),
    fc.constantFrom('{{', '}}', '"', '\\', '\n', '<', '\u2028', '\ud800', 'é', 'plain '),
  );
  const template = fc.array(piece, { maxLength: 5 }).map((pieces) => pieces.join(''));
  const value = fc.oneof(
    fc.uint8Array({ maxLength: 600 }).map((bytes) => Buffer.from(bytes).toString('latin1')),
    fc.constantFrom('\u0001'.repeat(600), '<'.repeat(600), '\xf0\x9f\x99\x82'.repeat(100)),
  );

  test('any value leaves JSON that parses, valid Unicode and bounded bytes, whatever the template', () => {
    fc.assert(
      fc.property(
        fc.dictionary(template, template, { maxKeys: 3, noNullPrototype: true }),
        template,
        value,
        value,
        fc.boolean(),
        (fields, line, sent, name, never) => {
          const rules = { login: perMinute(3, { name: name.slice(0, 80), path: [name] }) };
          const said = { ...saidWith(sent), rules, verdicts: [never ? NEVER_FITS : over(12)] };
          for (const responseBody of [accepted(json, fields), accepted(text, line)]) {
            if (responseBody === undefined) continue;
            const body = filled(said, responseBody) ?? '';
            const bytes = Buffer.byteLength(body);
            expect(bytes).toBeLessThanOrEqual(contentBytesMax(responseBody.content));
            expect(bytes).toBeLessThanOrEqual(BODY_BYTES_MAX);
            if (responseBody.kind === 'json') {
              expect(Object.keys(JSON.parse(body) as object)).toEqual(Object.keys(fields));
              expect(body).toMatch(/^[^\0-\x1f<>&\x7f-\x9f\u2028\u2029]*$/);
              expect(Buffer.from(body).toString()).toBe(body);
            }
          }
        },
      ),
      seeded(200),
    );
  });
});

describe('the bound of a body', () => {
  test('the ready-made problem stays within it', () => {
    for (const content of [PROBLEM.content, PROBLEM.neverFits!]) expect(contentBytesMax(content)).toBeLessThanOrEqual(BODY_BYTES_MAX);
  });
});
