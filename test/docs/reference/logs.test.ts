/** Each line of the log has a code, and the page of the log lists exactly these codes. */

import { LOG_EVENTS } from '../../../src/server/observability/log/log-event';
import { tableRows } from '../../support/docs/markdown';
import { sourceFiles } from '../../support/docs/source-files';

test('the page lists exactly the log codes of the code, with their descriptions', () => {
  const rows = tableRows('docs/logs.md').filter(([code]) => /^`\w+`$/.test(code!));
  expect(Object.fromEntries(rows.map(([code, when]) => [code!.replaceAll('`', ''), when]))).toEqual(LOG_EVENTS);
});

test('every log code is used by a line', () => {
  const used = new Set(
    sourceFiles().flatMap(({ text }) => Array.from(text.matchAll(/(?<!this\.)\b(?:event\(|away: |back: )'(\w+)'/g), ([, code]) => code)),
  );
  expect([...used].sort()).toEqual(Object.keys(LOG_EVENTS).sort());
});

test('a sentence of the log begins with a small letter, unless with a name', () => {
  const first = sourceFiles().flatMap(({ text }) =>
    Array.from(text.matchAll(/(?<!this\.)\bevent\((?:[^()]|\([^()]*\))*\),\s*['"`]([A-Z][a-z]*)\b/g), ([, word]) => word),
  );
  expect([...new Set(first)].sort()).toEqual(['Redis', 'Weir']);
});
