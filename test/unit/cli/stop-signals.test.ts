/** A stop signal ends the process before it serves, begins a drain later, and ends the drain when repeated. */

import { EventEmitter } from 'node:events';
import { StopSignals, type StopSignalsProcess } from '../../../src/program/cli/stop-signals';

class FakeProcess extends EventEmitter implements StopSignalsProcess {
  readonly ends: (string | number)[] = [];

  constructor(readonly pid: number) {
    super();
  }

  kill(pid: number, signal: string): void {
    // With a listener it would come here again.
    this.ends.push(`${pid} ${signal} ${this.listenerCount(signal)}`);
  }

  exit(code: number): void {
    this.ends.push(code);
  }
}

const PID = 4711;

test.each(['SIGTERM', 'SIGINT', 'SIGQUIT', 'SIGHUP'])('%s before serving ends the process by default', (signal) => {
  const self = new FakeProcess(PID);
  new StopSignals(self);
  self.emit(signal);
  expect(self.ends).toEqual([`${PID} ${signal} 0`]);
});

test.each([
  ['SIGTERM', 143],
  ['SIGINT', 130],
  ['SIGQUIT', 131],
  ['SIGHUP', 129],
])('%s ends the first process of a container, which the kernel does not end by default, with %d', (signal, code) => {
  const self = new FakeProcess(1);
  new StopSignals(self);
  self.emit(signal);
  expect(self.ends).toEqual([code]);
});

test.each([
  ['SIGTERM', 'SIGTERM'],
  ['SIGINT', 'SIGTERM'],
  ['SIGTERM', 'SIGINT'],
])('a first %s while serving requests a drain, and %s after it ends the drain', async (first, second) => {
  const self = new FakeProcess(PID);
  const told = new StopSignals(self).untilSignal();
  self.emit(first);
  expect(self.ends).toEqual([]);
  await expect(told).resolves.toBe(first);
  self.emit(second);
  expect(self.ends).toEqual([`${PID} ${second} 0`]);
});

test('SIGQUIT never drains, and SIGHUP ends nothing once it has a listener', () => {
  const self = new FakeProcess(PID);
  const signals = new StopSignals(self);
  let hangUps = 0;
  signals.onHangUp(() => (hangUps += 1));
  void signals.untilSignal();
  self.emit('SIGHUP');
  self.emit('SIGHUP');
  expect([hangUps, self.ends]).toEqual([2, []]);
  self.emit('SIGQUIT');
  expect(self.ends).toEqual([`${PID} SIGQUIT 0`]);
});
