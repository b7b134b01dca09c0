/** Frequent events are logged once a minute for each kind, with their number. */

import { FaultLog } from '../../../../src/server/observability/log/fault-log';
import { ThrottledLog, THROTTLE_MS } from '../../../../src/server/observability/log/throttled-log';

test('one line of a kind is logged a minute, and the next has the number of suppressed ones', () => {
  let nowMs = 0;
  const said: string[] = [];
  const throttled = new ThrottledLog({ write: (sentence) => said.push(sentence), nowMs: () => nowMs });
  for (let n = 0; n < 1000; n++) throttled.log('flood', `flood ${n}`);
  throttled.log('tls', 'tls');
  expect(said).toEqual(['flood 0', 'tls']);
  nowMs = THROTTLE_MS;
  throttled.log('flood', 'flood again');
  throttled.log('tls', 'tls again');
  nowMs *= 2;
  throttled.log('flood', 'and again');
  expect(said.slice(2)).toEqual(['flood again (999 similar messages suppressed)', 'tls again', 'and again']);
});

test('faults are of one kind by their place, whatever the error says, and the line has the error', () => {
  let nowMs = 0;
  const said: [unknown, string][] = [];
  const faults = new FaultLog({
    log: { error: ({ err }: { err?: unknown }, sentence?: string) => said.push([{ err }, sentence ?? '']) },
    nowMs: () => nowMs,
  });
  const wrong = (n: number) => ({ err: new TypeError(`wrong ${n}`) });
  for (let n = 0; n < 1000; n++) faults.error(wrong(n), 'a request failed');
  const others = [{ err: new RangeError('far') }, { err: 'no error at all' }];
  for (const fault of others) faults.error(fault, 'a request failed');
  faults.error(wrong(0), 'a connection failed');
  expect(said).toEqual([
    [wrong(0), 'a request failed'],
    ...others.map((fault) => [fault, 'a request failed']),
    [wrong(0), 'a connection failed'],
  ]);
  nowMs = THROTTLE_MS;
  faults.error(wrong(7), 'a request failed');
  expect(said.at(-1)).toEqual([wrong(7), 'a request failed (999 similar messages suppressed)']);
});
