/** Each difference of the model from envoyproxy/ratelimit is a listed one. */

import { tableRows } from '../../support/docs/markdown';
import { AMENDMENTS } from './amendments';

test.each(Object.entries(AMENDMENTS))('docs/differences.md has a row for %s', (_name, difference) => {
  expect(tableRows('docs/differences.md').map(([first]) => first)).toContain(difference);
});
