/** README.md and the pages below docs/ have at most 84,000 words together, so that a person can read them. */

import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { figure } from '../../support/docs/figure';

const WORDS_MAX = 84_000;

/** Words have a letter or a digit: the bars of tables and the marks of lists are none. */
function wordsOf(text: string): number {
  return text.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length;
}

/** A table of names and versions, which is looked up and not read. */
const LICENSES = 'generated/licenses.md';

/** README.md and the Markdown files below docs/. */
function pages(): readonly string[] {
  const below = readdirSync('docs', { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.md') && name !== LICENSES);
  return ['README.md', ...below.map((name) => path.join('docs', name))];
}

test('the documents have at most 84,000 words', () => {
  const words = pages().reduce((sum, page) => sum + wordsOf(readFileSync(page, 'utf8')), 0);
  figure(`${words.toLocaleString('en')} words`);
  expect(words).toBeGreaterThan(WORDS_MAX / 2);
  expect(words).toBeLessThanOrEqual(WORDS_MAX);
});
