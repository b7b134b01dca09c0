/** Any text as configuration gives a rule set or a ConfigError. */

import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { compileConfig } from '../../../src/configuration/compile/compile';
import { ConfigError } from '../../../src/configuration/problems/config-error';
import { anyText } from '../../support/random/any-text';

const VALID = readFileSync('deploy/example/payments.yaml', 'utf8');

/** Pieces that mean something to YAML or to the schema. */
const PIECES = [
  '\n',
  '  ',
  '- ',
  ': ',
  '? ',
  '{',
  '}',
  '[',
  ']',
  '&a ',
  '*a',
  '<<: ',
  '|',
  '>',
  '!!int ',
  '%YAML 1.1\n',
  '---\n',
  '...\n',
  '#',
  '"',
  "'",
  '\t',
  '\u0000',
  '\uD800',
  '~',
  'domain: ',
  'descriptors:\n',
  'key: ',
  'value: ',
  'rate_limit: ',
  'unit: ',
  '1e999',
];

function compileOrRefuse(text: string): void {
  try {
    compileConfig({ files: [{ name: 'f.yaml', text }], defaultAlgorithm: 'token_bucket', generation: 1 });
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    expect(error.message).not.toBe('');
  }
}

describe('the compiler accepts or rejects', () => {
  test('random text', () => {
    fc.assert(fc.property(anyText({ maxLength: 300 }), compileOrRefuse), { numRuns: 500 });
  });

  test('random mixtures of YAML', () => {
    const mixture = fc.array(fc.constantFrom(...PIECES), { maxLength: 60 }).map((pieces) => pieces.join(''));
    fc.assert(fc.property(mixture, compileOrRefuse), { numRuns: 1500 });
  });

  test('a valid file with parts removed and inserted', () => {
    const edit = fc.record({ at: fc.nat(VALID.length), cut: fc.nat(40), put: fc.constantFrom('', ...PIECES) });
    const mutated = fc
      .array(edit, { minLength: 1, maxLength: 6 })
      .map((edits) => edits.reduce((text, { at, cut, put }) => text.slice(0, at) + put + text.slice(at + cut), VALID));
    fc.assert(fc.property(mutated, compileOrRefuse), { numRuns: 300 });
  });
});
