/** The page of errors lists exactly the errors of the code. */

import { tableRows } from '../../support/docs/markdown';
import { sourceFiles } from '../../support/docs/source-files';

const THROWN =
  /(?:new (?:BadRequestError|BucketError|PartsError|StoreError|TooManyReservationsError|UnavailableError|UnknownReservationError)\(\s*|message: )(['`])((?:(?!\1).)*)\1/g;
const FAULT = 'internal error; see the log of the rate limit service';

/**
 * What `weir check`, `weir test` and a start say of files and of settings: they name their place, and what to do. The warnings of writes without
 * effect are in the page of the admin API, by their codes.
 */
const OF_CONFIGURATION =
  /^configuration\/(?:settings|problems|yaml|compile|source(?!\/xds|\/rules-in-force))\/|^administration\/admin\/(?:effect\/|routes\/credit-route\.ts$)|^domain\/rule\/limit\.ts$|^program\/cli\/(?:check\.ts$|test\/|replay\/)/;

/** Messages as the code writes them, with `…` for what is put in. */
function messagesOfCode(): string[] {
  const messages = sourceFiles()
    .filter(({ name }) => !OF_CONFIGURATION.test(name))
    .flatMap(({ text }) => Array.from(text.matchAll(THROWN), ([, , message]) => message!.replace(/\$\{[^}]*\}/g, '…')));
  return [...new Set(messages)].filter((message) => message !== '');
}

test('the page lists exactly the errors of the code', () => {
  const documented = tableRows('docs/errors.md').map(([message]) => message!.replaceAll('`', ''));
  expect(messagesOfCode()).toContain(FAULT);
  expect([...documented].sort()).toEqual(messagesOfCode().sort());
});
