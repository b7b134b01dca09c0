/** Every promise of docs/requirements.md has its test, by file and by name. */

import { existsSync, readFileSync } from 'node:fs';
import { tableRows } from '../support/markdown';

interface Row {
  readonly promise: string;
  readonly file: string;
  readonly title: string;
}

function rows(): Row[] {
  return tableRows('docs/requirements.md').map(([promise = '', test = '']) => {
    const [, file = '', title = ''] = /^`([^`]+)`(?:: (.*))?$/.exec(test) ?? [];
    return { promise, file, title };
  });
}

test('there are promises', () => {
  expect(rows().length).toBeGreaterThan(20);
});

test.each(rows())('$promise', ({ file, title }) => {
  expect(existsSync(file)).toBe(true);
  // A title may be made of a table's rows; its fixed part stands in the file.
  if (title !== '') expect(readFileSync(file, 'utf8')).toContain(title);
});
