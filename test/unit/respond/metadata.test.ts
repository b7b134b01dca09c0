/** Metadata of an answer is valid text within its bounds, and has the rule, limit, code and exact reset. */

import { toByteString } from '../../../src/domain/descriptor/byte-string';
import { additionsFor, type AdditionOptions } from '../../../src/domain/respond/response-additions';
import { METADATA_BYTES_MAX, METADATA_TEXT_BYTES_MAX } from '../../../src/domain/respond/metadata-texts';
import { NO_BODY } from '../../../src/domain/rule/body/response-body';
import type { JsonObject } from '../../../src/domain/rule/rule';
import { answeredOf, fits, over, rulesOf, type Said } from '../../support/decisions/decided-request';
import { entriesOf, limitOf, requestOf, ruleOf } from '../../support/decisions/rules';

const NAMES = { limit: 'l', remaining: 'r', reset: 't' };
const OFF: AdditionOptions = {
  responseHeaders: 'off',
  headerNames: NAMES,
  headerForms: { limit: 'requests_per_unit', reset: 'seconds' },
  retryAfter: undefined,
  retryAfterMs: false,
  responseBody: NO_BODY,
  requestMetadata: false,
  decisionMetadata: false,
};

function metadataOf(said: Said, options: Partial<AdditionOptions>): JsonObject | undefined {
  return additionsFor(rulesOf(said.rules), { ...OFF, ...options })?.(answeredOf(said)).metadata;
}

describe('RESPONSE_DYNAMIC_METADATA', () => {
  const on = { requestMetadata: true };

  test('it repeats the request', () => {
    const request = requestOf(
      [
        { entries: entriesOf('path=/login', 'client=zoe') },
        { entries: entriesOf('k='), hits: 0 },
        { entries: entriesOf('k=w'), hits: -2, override: { requestsPerUnit: 42, unit: 'hour', unitMultiplier: 1 } },
        { entries: [], override: { requestsPerUnit: 7, unit: 'day', unitMultiplier: 3 } },
        { entries: [], override: { requestsPerUnit: 0, unit: 'day', unitMultiplier: 1 } },
      ],
      { hits: 1 },
    );
    expect(metadataOf({ rules: {}, verdicts: [fits(1), fits(1)], request }, on)).toEqual({
      domain: 'd',
      descriptors: [
        { entries: ['path=/login', 'client=zoe'] },
        { entries: ['k='], hitsAddend: 0 },
        { entries: ['k=w'], hitsAddend: -2, limit: 'requests_per_unit:42 unit:HOUR' },
        { entries: [], limit: 'requests_per_unit:7 unit:DAY unit_multiplier:{value:3}' },
        { entries: [], limit: 'unit:DAY' },
      ],
    });
  });

  test("it has the request's hits only if the request has them", () => {
    const request = (parts: Parameters<typeof requestOf>[1]) => requestOf([{ entries: [] }], parts);
    expect(metadataOf({ rules: {}, verdicts: [], request: request({ hits: 1 }) }, on)).not.toHaveProperty('hitsAddend');
    expect(metadataOf({ rules: {}, verdicts: [], request: request({ hits: 1, saysHits: true }) }, on)).toHaveProperty('hitsAddend', 1);
  });

  test('it replaces bytes that are not UTF-8, and keeps other text', () => {
    const request = requestOf(
      [
        {
          entries: [
            { key: 'k', value: '\xff\0a' },
            { key: toByteString('ключ'), value: toByteString('🙂') },
          ],
        },
      ],
      { domain: 'd\xc3' },
    );
    expect(metadataOf({ rules: {}, verdicts: [], request }, on)).toEqual({
      domain: 'd�',
      descriptors: [{ entries: ['k=�\0a', 'ключ=🙂'] }],
    });
  });

  test('it cuts long texts, and their total', () => {
    const long = 'v'.repeat(METADATA_TEXT_BYTES_MAX);
    const request = requestOf([{ entries: Array.from({ length: 64 }, () => ({ key: 'k', value: long })) }]);
    const metadata = metadataOf({ rules: {}, verdicts: [], request }, on);
    const [{ entries }] = metadata!.descriptors as unknown as [{ entries: string[] }];
    expect(entries[0]).toBe(`k=${long.slice(2)}…`);
    expect(entries).toHaveLength(64);
    expect(entries.at(-1)).toBe('…');
    expect(Buffer.byteLength(JSON.stringify(metadata))).toBeLessThan(METADATA_BYTES_MAX + 64 * 10);
  });

  describe('the metadata of rules', () => {
    const rule = (metadata: JsonObject, parts: Parameters<typeof ruleOf>[0] = {}) => ruleOf({ metadata, ...parts });
    const mergedOf = (said: Said) => metadataOf(said, on)?.metadata;

    test('it is merged at every depth, and the first value wins', () => {
      const rules = {
        a: rule({ plan: 'gold', tags: { x: 1, list: [1] }, mixed: {} }),
        b: rule({ plan: 'tin', tags: { x: 2, y: { z: null }, list: [2] }, mixed: 'text', more: true }),
      };
      expect(mergedOf({ rules, verdicts: [fits(1), fits(1)] })).toEqual({
        plan: 'gold',
        tags: { x: 1, list: [1], y: { z: null } },
        mixed: {},
        more: true,
      });
    });

    test('it counts only where the limit is not over, which a shadow limit never is', () => {
      const rules = { a: rule({ a: 1 }), b: rule({ b: 1 }), c: rule({ c: 1 }, { shadowMode: true }), d: ruleOf() };
      expect(mergedOf({ rules, verdicts: [over(1), fits(1), over(1), fits(1)] })).toEqual({ b: 1, c: 1 });
    });

    test('it includes unlimited rules and rules with detailed_metric, and not overridden rules', () => {
      expect(
        mergedOf({
          rules: { a: rule({ a: 1 }, { limits: [], unlimited: true }), b: rule({ b: 2 }, { detailedMetric: true }) },
          verdicts: [fits(1)],
        }),
      ).toEqual({ a: 1, b: 2 });
      const request = requestOf([{ entries: entriesOf('a=v'), override: { requestsPerUnit: 1, unit: 'hour', unitMultiplier: 1 } }]);
      expect(mergedOf({ rules: { a: rule({ a: 1 }) }, verdicts: [fits(1)], request })).toBeUndefined();
    });

    test('it is absent if it is empty', () => {
      expect(mergedOf({ rules: { a: rule({}), b: rule({}) }, verdicts: [fits(1), fits(1)] })).toBeUndefined();
      expect(mergedOf({ rules: { a: rule({}), b: rule({ b: 1 }) }, verdicts: [fits(1), fits(1)] })).toEqual({ b: 1 });
    });

    test('it accepts any names', () => {
      const named = (value: number) => JSON.parse(`{"__proto__": {"x${value}": ${value}}}`) as JsonObject;
      expect(JSON.stringify(mergedOf({ rules: { a: rule(named(1)), b: rule(named(2)) }, verdicts: [fits(1), fits(1)] }))).toBe(
        '{"__proto__":{"x1":1,"x2":2}}',
      );
    });
  });
});

describe('RESPONSE_DECISION_METADATA', () => {
  const on = { decisionMetadata: true };

  test('it has the rule, limit and code of each descriptor, and the exact reset', () => {
    const rules = {
      a: ruleOf({ path: ['path_/login', 'client'], limits: [limitOf({ name: 'logins', requestsPerUnit: 3, unit: 'hour' })] }),
      b: ruleOf({ path: ['plan_free'], limits: [limitOf({ requestsPerUnit: 9, unitMultiplier: 5 })], shadowMode: true }),
      c: ruleOf({ path: ['staff'], name: 'staff', limits: [], unlimited: true }),
      d: ruleOf({ path: ['q'], quotaMode: true }),
    };
    const request = requestOf(['a=v', 'b=v', 'c=v', 'd=v', 'other=v'].map((entry) => ({ entries: entriesOf(entry) })));
    expect(metadataOf({ rules, verdicts: [over(1_234_567), over(1), fits(8, 0)], request }, on)).toEqual({
      decision: {
        code: 'OVER_LIMIT',
        generation: 7,
        denied_by: ['d.path_/login.client'],
        descriptors: [
          {
            code: 'OVER_LIMIT',
            rule: 'd.path_/login.client',
            limit_name: 'logins',
            requests_per_unit: 3,
            unit: 'HOUR',
            fits: false,
            limit_remaining: 0,
            reset_ms: 1235,
          },
          {
            code: 'OK',
            rule: 'd.plan_free',
            mode: 'shadow',
            requests_per_unit: 9,
            unit: 'SECOND',
            unit_multiplier: 5,
            fits: false,
            limit_remaining: 0,
            reset_ms: 1,
          },
          { code: 'OK', rule: 'd.staff', limit_name: 'staff', unlimited: true },
          { code: 'OK', rule: 'd.q', mode: 'quota', requests_per_unit: 10, unit: 'SECOND', fits: true, limit_remaining: 8, reset_ms: 0 },
          { code: 'OK' },
        ],
      },
    });
  });

  test('it names only quota limits that deny', () => {
    const rules = { a: ruleOf({ path: ['a'] }), q: ruleOf({ path: ['q'], quotaMode: true }), r: ruleOf({ path: ['r'], quotaMode: true }) };
    const deniedBy = (verdicts: Said['verdicts'], overLimit: boolean) => metadataOf({ rules, verdicts, overLimit }, on)?.decision;
    expect(deniedBy([over(1), over(1), fits(1)], true)).toHaveProperty('denied_by', ['d.a']);
    expect(deniedBy([fits(1), over(1), over(1)], true)).toHaveProperty('denied_by', ['d.q', 'd.r']);
    expect(deniedBy([fits(1), over(1), fits(1)], false)).not.toHaveProperty('denied_by');
  });

  test('it names an override by its rule, or by its keys as valid text', () => {
    const override = { requestsPerUnit: 1, unit: 'hour' as const, unitMultiplier: 1 };
    const request = requestOf([
      { entries: entriesOf('a=v'), override },
      { entries: [{ key: 'x\xff', value: 'v' }], override },
    ]);
    const metadata = metadataOf({ rules: { a: ruleOf({ path: ['a'] }) }, verdicts: [fits(1), fits(1)], request }, on);
    expect(metadata?.decision).toMatchObject({
      descriptors: [
        { rule: 'd.a', override: true },
        { rule: 'd.x�', override: true },
      ],
    });
  });

  test('it stands beside the other metadata, and beside the store that decided', () => {
    const said: Said = { rules: { a: ruleOf() }, verdicts: [fits(1)], fallback: true };
    expect(Object.keys(metadataOf(said, on) ?? {})).toEqual(['decided_by', 'decision']);
    expect(Object.keys(metadataOf(said, { ...on, requestMetadata: true }) ?? {})).toEqual([
      'decided_by',
      'domain',
      'descriptors',
      'decision',
    ]);
    expect(metadataOf(said, { requestMetadata: true })).toMatchObject({ decided_by: 'fallback', domain: 'd' });
    expect(metadataOf({ ...said, rules: { a: ruleOf() } }, { responseHeaders: 'ietf' })).toBeUndefined();
  });
});
