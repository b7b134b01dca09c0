/** What may happen often is told once a minute for each kind, with the number of the rest. */

import { SeldomFaults } from '../../../src/observability/fault-log';
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

test('of faults a kind is what went wrong where, whatever the error says, and the line has the error', () => {
  let nowMs = 0;
  const said: [unknown, string][] = [];
  const faults = new SeldomFaults({ log: { error: (fault: unknown, sentence?: string) => said.push([fault, sentence ?? '']) }, nowMs: () => nowMs });
  const wrong = (n: number) => ({ err: new TypeError(`wrong ${n}`) });
  for (let n = 0; n < 1000; n++) faults.error(wrong(n), 'a request failed');
  const others = [{ err: new RangeError('far') }, { err: 'no error at all' }];
  for (const fault of others) faults.error(fault, 'a request failed');
  faults.error(wrong(0), 'a connection failed');
  expect(said).toEqual([[wrong(0), 'a request failed'], ...others.map((fault) => [fault, 'a request failed']), [wrong(0), 'a connection failed']]);
  nowMs = SELDOM_MS;
  faults.error(wrong(7), 'a request failed');
  expect(said.at(-1)).toEqual([wrong(7), 'a request failed (and 999 more since the last line of this kind)']);
});
