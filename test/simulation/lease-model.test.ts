/** In no history do leases admit more hits in a window than its limit, and each rule of leases is needed for that. */

import { figure } from '../support/docs/figure';
import { explore, type Mistake } from './lease-model';

const MISTAKES: readonly Mistake[] = [
  'uses a lease past the end of its window',
  'leaves no margin for drift',
  'spends a charge whose reply is lost',
  'counts a repeated reply twice',
  'gives back again after a lost reply',
  'gives back hits that were used',
  'goes on using hits that it gave back',
  'puts a held hit back into the lease of another window',
  'gives hits of a window back to the next one',
];

test('no history of charges, lost and repeated replies, crashes, drifting clocks and ended windows admits more than the limit', () => {
  const { states, history } = explore();
  expect(history).toBeUndefined();
  figure(`${states} states`);
});

test.each(MISTAKES)('the explorer finds an instance that %s', (mistake) => {
  const { history } = explore(mistake);
  expect(history?.length).toBeGreaterThan(1);
});
