/** A configuration for another program gets one error that says what it is and how Weir writes it. */

import { FILE } from '../../../src/configuration/compile/fields/file';
import { CONFIG_MAP_TEXT } from '../../support/config/config-map-text';
import { examineConfig } from './compile-config';
import { unwrapConfigMap } from '../../../src/configuration/source/files/config-map';

function errorsOf(text: string): string[] {
  const { list } = examineConfig({ files: [{ name: 'f.yaml', text }], defaultAlgorithm: 'token_bucket', generation: 1 });
  return list.found().kept.map(({ line, column, path, message }) => `${line}:${column} ${path}: ${message}`);
}

function limitErrors(limit: string): string[] {
  return errorsOf(`domain: d\ndescriptors:\n  - key: k\n    rate_limit: ${limit}\n`);
}

describe('a file for another program is rejected with an explanation', () => {
  test('a list of descriptors is recognized', () => {
    expect(errorsOf('- key: user\n  rate_limit: { unit: second, requests_per_unit: 5 }\n')).toEqual([
      '1:1 : is a list of descriptors; put domain: NAME at the root of the file, and the list below descriptors:',
    ]);
  });

  test('limits of limitador are recognized', () => {
    expect(errorsOf('- namespace: shop\n  max_value: 10\n  seconds: 120\n  conditions: ["x"]\n  variables: [user]\n')).toEqual([
      '1:1 : is a list of limits for limitador; write domain: "shop", and below descriptors: each limit with its key and rate_limit: { requests_per_unit: 10, unit: minute, unit_multiplier: 2 } (docs/migrating.md)',
    ]);
  });

  test('another list, or a text, is recognized', () => {
    const keys = `a map of the keys ${FILE.keys.join(', ')}`;
    expect(errorsOf('- a\n- b\n')).toEqual([`1:1 : is a list; it must be ${keys}`]);
    expect(errorsOf('hello\n')).toEqual([`1:1 : is text; it must be ${keys}`]);
  });

  test('a Kubernetes manifest is recognized', () => {
    expect(errorsOf(CONFIG_MAP_TEXT)).toEqual([
      '2:1 kind: is a Kubernetes ConfigMap; mount it and name the directory of its files, or write the text of its data into a file',
    ]);
    expect(errorsOf('apiVersion: apps/v1\nkind: Deployment\nspec: {}\n')).toEqual([
      '2:1 kind: is a Kubernetes Deployment; name the file with the rate limits',
    ]);
  });
});

describe('a limit in the words of another limiter', () => {
  test.each([
    [
      '{ capacity: 20, refill_rate: 5 }',
      '4:19 descriptors[0].rate_limit: unknown keys capacity, refill_rate; write unit: second, requests_per_unit: 5, burst: 20',
    ],
    [
      '{ capacity: 10, refill_rate: 0.08 }',
      '4:19 descriptors[0].rate_limit: unknown keys capacity, refill_rate; write unit: second, unit_multiplier: 25, requests_per_unit: 2, burst: 10',
    ],
    [
      '{ max_tokens: 30, tokens_per_fill: 3, fill_interval: 60s }',
      '4:19 descriptors[0].rate_limit: unknown keys max_tokens, tokens_per_fill, fill_interval; write unit: minute, requests_per_unit: 3, burst: 30',
    ],
    [
      '{ max_value: 7, seconds: 7200 }',
      '4:19 descriptors[0].rate_limit: unknown keys max_value, seconds; write unit: hour, unit_multiplier: 2, requests_per_unit: 7',
    ],
    ['{ capacity: 20, unit: second, requests_per_unit: 5 }', '4:19 descriptors[0].rate_limit: unknown key capacity; write burst: 20'],
    ['5/second', '4:17 descriptors[0].rate_limit: is text; write it as { unit: second, requests_per_unit: 5 }'],
    ['100 per 5min', '4:17 descriptors[0].rate_limit: is text; write it as { unit: minute, unit_multiplier: 5, requests_per_unit: 100 }'],
    ['10r/s', '4:17 descriptors[0].rate_limit: is text; write it as { unit: second, requests_per_unit: 10 }'],
    [
      '{ capacity: many, refill_rate: 5 }',
      '4:19 descriptors[0].rate_limit: unknown keys capacity, refill_rate; use unit and requests_per_unit for the rate, burst for what passes at once',
    ],
  ])('a limit gets a hint: %s', (limit, error) => {
    expect(limitErrors(limit)).toEqual([error]);
  });
});

describe('a rate with a fraction', () => {
  test.each([
    [
      '{ unit: second, requests_per_unit: 0.08 }',
      '"0.08" is not a whole number; the same rate is unit: second, unit_multiplier: 25, requests_per_unit: 2',
    ],
    [
      '{ unit: minute, requests_per_unit: 2.5 }',
      '"2.5" is not a whole number; the same rate is unit: minute, unit_multiplier: 2, requests_per_unit: 5',
    ],
    [
      '{ unit: minute, unit_multiplier: 3, requests_per_unit: 1.5 }',
      '"1.5" is not a whole number; the same rate is unit: minute, unit_multiplier: 6, requests_per_unit: 3',
    ],
    ['{ unit: second, requests_per_unit: 5.0 }', '"5.0" is not a whole number; write 5'],
    ['{ unit: year, requests_per_unit: 0.000000001 }', '"0.000000001" must be a whole number from 0 to 9007199254740991, unquoted'],
  ])('a rate with a fraction gets a hint: %s', (limit, message) => {
    expect(limitErrors(limit).map((error) => error.replace(/^\S+ descriptors\[0\]\.rate_limit\.requests_per_unit: /, ''))).toEqual([
      message,
    ]);
  });
});

describe('a ConfigMap is unwrapped', () => {
  const [inner, ...others] = unwrapConfigMap({ name: 'cm.yaml', text: CONFIG_MAP_TEXT });

  test('each entry of data that is YAML becomes a file, named by its key', () => {
    expect(inner).toMatchObject({ file: 'cm.yaml', key: 'limits.yaml' });
    expect(others).toHaveLength(1);
    expect(others[0]).toMatchObject({ file: 'cm.yaml', key: 'more.yml' });
  });

  test('problems have the lines and columns of the ConfigMap', () => {
    const { list } = examineConfig({
      files: [inner!.document, ...others.map(({ document }) => document)],
      defaultAlgorithm: 'token_bucket',
      generation: 1,
    });
    expect(list.found().kept.map(({ line, column, message }) => [line, column, message.split(';')[0]])).toEqual([
      [11, 29, 'unknown unit "secnod"'],
      [17, 1, 'is missing'],
    ]);
  });

  test('other documents stay as they are', () => {
    expect(unwrapConfigMap({ name: 'a.yaml', text: 'domain: d\n' })).toEqual([]);
    expect(unwrapConfigMap({ name: 'a.yaml', text: 'kind: ConfigMap\ndata: [\n' })).toEqual([]);
  });
});
