/** Each amendment of the model is a difference that operators are told of. */

import { tableRows } from '../support/markdown';
import { AMENDMENTS } from './amendments';

test.each(Object.entries(AMENDMENTS))('%s: a row of docs/differences.md', (_name, difference) => {
  expect(tableRows('docs/differences.md').map(([first]) => first)).toContain(difference);
});
