/** The page of errors and the code agree, in both directions. */

import { tableRows } from '../support/markdown';
import { sourceFiles } from '../support/source-files';

const THROWN = /(?:new (?:BadRequestError|BucketError|PartsError|StoreError|TooManyReservationsError|UnavailableError|UnknownReservationError)\(\s*|message: )(['`])((?:(?!\1).)*)\1/g;
const FAULT = 'internal error; see the log of the rate limit service';

/** Messages as the code writes them, with `…` for what is put in. */
function messagesOfCode(): string[] {
  const messages = sourceFiles()
    .filter(({ name }) => !name.startsWith('config/') && name !== 'rule/limit.ts')
    .flatMap(({ text }) => Array.from(text.matchAll(THROWN), ([, , message]) => message!.replace(/\$\{[^}]*\}/g, '…')));
  return [...new Set(messages)].filter((message) => message !== '');
}

test('every error of the code is on the page, and the page names no other', () => {
  const documented = tableRows('docs/errors.md').map(([message]) => message!.replaceAll('`', ''));
  expect(messagesOfCode()).toContain(FAULT);
  expect([...documented].sort()).toEqual(messagesOfCode().sort());
});
