/**
 * The YAML composer stops at the bound of errors.
 *
 * These tests fail when a new version of the package `yaml` no longer collects its errors in the lists of `streamInfo`.
 */

import { Parser, type Document } from 'yaml';
import { composeBounded, TooManyErrorsError, YAML_ERRORS_MAX } from '../../../src/configuration/yaml/bounded-composer';

function compose(text: string): Document.Parsed[] {
  return [...composeBounded(new Parser().parse(text), text.length)];
}

function refusalOf(text: string): TooManyErrorsError {
  try {
    compose(text);
  } catch (error) {
    if (error instanceof TooManyErrorsError) return error;
    throw error;
  }
  throw new Error('the text was composed to its end');
}

/** Lines with one error each, and what is around them. */
const PLACES = [
  { place: 'in a map', line: 'b\n', head: 'a: 1\n', tail: '' },
  { place: 'deep in lists', line: '- b: 1\n  c\n', head: '- - - a\n', tail: '' },
  { place: 'in directives', line: '%YAML 9\n', head: '', tail: '---\na: 1\n' },
  { place: 'in warnings', line: '%UNKNOWN x\n', head: '', tail: '---\na: 1\n' },
  { place: 'outside of documents', line: '}\n', head: '', tail: '' },
  { place: 'behind the end of a document', line: '[]', head: '[]', tail: '' },
  { place: 'in the second document', line: 'b\n', head: 'a: 1\n---\na: 1\n', tail: '' },
];

describe.each(PLACES)('errors $place', ({ line, head, tail }) => {
  function text(lines: number): string {
    return `${head}${line.repeat(lines)}${tail}`;
  }

  function countIn(lines: number): number {
    return compose(text(lines)).reduce((sum, { errors, warnings }) => sum + errors.length + warnings.length, 0);
  }

  // A line may have more than one error, and the first line none.
  const each = countIn(20) - countIn(19);
  const fixed = countIn(20) - 20 * each;
  const linesMax = Math.floor((YAML_ERRORS_MAX - fixed) / each);

  test('are all reported up to the bound', () => {
    expect(each).toBeGreaterThan(0);
    expect(countIn(linesMax)).toBe(fixed + linesMax * each);
  });

  test('beyond the bound end the composition', () => {
    expect(refusalOf(text(linesMax + 1)).errors).toHaveLength(YAML_ERRORS_MAX + 1);
    const { errors, lastOffset } = refusalOf(text(50 * YAML_ERRORS_MAX));
    expect(errors).toHaveLength(YAML_ERRORS_MAX + 1);
    expect(lastOffset).toBeLessThan(text(2 * YAML_ERRORS_MAX).length);
  });
});
