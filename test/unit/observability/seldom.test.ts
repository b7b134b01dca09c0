/** What may happen often is told once a minute for each kind, with the number of the rest. */

import { Seldom, SELDOM_MS } from '../../../src/observability/seldom';

test('one line of a kind in a minute, and the next one says how many there were', () => {
  let nowMs = 0;
  const said: string[] = [];
  const seldom = new Seldom({ say: (sentence) => said.push(sentence), nowMs: () => nowMs });
  for (let n = 0; n < 1000; n++) seldom.say('flood', `flood ${n}`);
  seldom.say('tls', 'tls');
  expect(said).toEqual(['flood 0', 'tls']);
  nowMs = SELDOM_MS;
  seldom.say('flood', 'flood again');
  seldom.say('tls', 'tls again');
  nowMs *= 2;
  seldom.say('flood', 'and again');
  expect(said.slice(2)).toEqual(['flood again (and 999 more since the last line of this kind)', 'tls again', 'and again']);
});
