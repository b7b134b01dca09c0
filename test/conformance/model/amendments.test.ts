/** Each amendment of the model is a difference that operators are told of. */

import { tableRows } from '../../support/docs/markdown';
import { AMENDMENTS } from './amendments';

test.each(Object.entries(AMENDMENTS))('docs/differences.md has a row for %s', (_name, difference) => {
  expect(tableRows('docs/differences.md').map(([first]) => first)).toContain(difference);
});
