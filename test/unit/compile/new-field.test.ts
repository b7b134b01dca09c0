/** A new YAML field takes one entry of the table, which reads, checks, documents and shows it. */

import { defineLevel } from '../../../src/configuration/compile/field-types/field';
import { uint32 } from '../../../src/configuration/compile/field-types/scalar-types';
import { DESCRIPTOR } from '../../../src/configuration/compile/fields/descriptor';
import { FILE } from '../../../src/configuration/compile/fields/file';
import { RATE_LIMIT } from '../../../src/configuration/compile/fields/rate-limit';
import { MapReader } from '../../../src/configuration/compile/read/map-reader';
import { renderConfigurationDoc } from '../../../scripts/generate/docs/configuration-doc';
import { renderJsonSchema } from '../../../src/configuration/compile/schema/json-schema';
import { ProblemList } from '../../../src/configuration/problems/problem-list';
import { openDocument } from '../../../src/configuration/yaml/config-document';

const PENALTY = {
  name: 'penalty',
  type: uint32(),
  of: 'Weir',
  default: '0',
  meaning: 'Hits that a denied request costs.',
  example: '2',
} as const;

const EXTENDED = defineLevel({ ...RATE_LIMIT, fields: { ...RATE_LIMIT.fields, penalty: PENALTY } });

/** A `rate_limit` by the extended table, and its problems. */
function read(text: string) {
  const list = new ProblemList();
  const { root, problems } = openDocument({ name: 'f.yaml', text }, { list });
  const values = MapReader.open(root!, { level: EXTENDED, path: 'rate_limit', problems })?.values;
  return { values, errors: list.found().kept.map(({ path, message }) => `${path}: ${message}`) };
}

test('the reader has its value, with the type of its entry', () => {
  const { values, errors } = read('unit: day\npenalty: 2\n');
  const penalty: number | undefined = values?.penalty?.value;
  expect(penalty).toBe(2);
  expect(values?.unit?.value).toBe('day');
  expect(errors).toEqual([]);
});

test('a wrong value and a misspelled name are errors', () => {
  expect(read('unit: day\npenalty: many\n').errors).toEqual([
    'rate_limit.penalty: "many" must be a whole number from 0 to 4294967295, unquoted',
  ]);
  expect(read('unit: day\npenalyt: 2\n').errors).toEqual(['rate_limit.penalyt: unknown key in rate_limit; did you mean penalty?']);
});

test('the page and the JSON Schema have it', () => {
  const levels = [FILE, DESCRIPTOR, EXTENDED] as const;
  expect(renderConfigurationDoc(levels)).toContain('| `penalty` | 0 to 4294967295 | `0` | Hits that a denied request costs. |');
  const { $defs } = JSON.parse(renderJsonSchema([...levels])) as { $defs: { rate_limit: { properties: Record<string, object> } } };
  expect($defs.rate_limit.properties.penalty).toMatchObject({
    description: 'Hits that a denied request costs.',
    default: 0,
    examples: [2],
  });
});
