/** The promises at the heads of the test files, which docs/generated/requirements.md lists. */

import path from 'node:path';
import type { Passage } from './prose';
import { sourceFiles } from './source-files';

/** The first paragraph of the comment that opens each test file. */
export function testHeads(): Passage[] {
  return sourceFiles({ folder: 'test' })
    .filter(({ name }) => name.endsWith('.test.ts'))
    .map(({ name, text }) => {
      const comment = text.startsWith('/**') ? text.slice('/**'.length, text.indexOf('*/')) : '';
      const [paragraph = ''] = comment
        .replaceAll(/^ \* ?/gm, '')
        .trim()
        .split('\n\n');
      return { file: path.join('test', name), line: 1, lines: paragraph.split('\n') };
    });
}
