/** Calls stop waiting for a Weir that fails for 250 ms, and one trial finds it again. */

import { AbsenceCircuit } from '../../../src/program/library/client/absence-circuit';

let nowMs: number;
let circuit: AbsenceCircuit;

beforeEach(() => {
  jest.useFakeTimers();
  nowMs = 1_000;
  circuit = new AbsenceCircuit({ nowMs: () => nowMs });
});

afterEach(() => {
  circuit.close();
  jest.useRealTimers();
});

function fail(times: number, everyMs = 0): void {
  for (let n = 0; n < times; n += 1) {
    circuit.recordFailure();
    nowMs += everyMs;
  }
}

test('many failures at once, as after a pause of this process, stop no call', () => {
  fail(1_000);
  expect(circuit.mayCall()).toBe(true);
});

test('few failures over a long time stop no call', () => {
  fail(7, 1_000);
  expect(circuit.mayCall()).toBe(true);
});

test('failures over 250 ms stop all calls but one trial every 250 ms', () => {
  fail(8, 50);
  expect(circuit.mayCall()).toBe(false);
  jest.advanceTimersByTime(250);
  expect([circuit.mayCall(), circuit.mayCall()]).toEqual([true, false]);
  circuit.recordFailure();
  expect(circuit.mayCall()).toBe(false);
  jest.advanceTimersByTime(250);
  expect(circuit.mayCall()).toBe(true);
  circuit.recordAnswer();
  expect([circuit.mayCall(), circuit.mayCall()]).toEqual([true, true]);
});

test('a trial that its caller gives up is followed by another', () => {
  fail(8, 50);
  jest.advanceTimersByTime(250);
  expect(circuit.mayCall()).toBe(true);
  circuit.recordAbort();
  expect(circuit.mayCall()).toBe(false);
  jest.advanceTimersByTime(250);
  expect(circuit.mayCall()).toBe(true);
});

test('an answer between failures starts the count again', () => {
  fail(7, 100);
  circuit.recordAnswer();
  fail(7, 100);
  expect(circuit.mayCall()).toBe(true);
});
