/** Connections are read in turns, so small input is read at once while large input waits for its share. */

import { ReadTurns, type ReadShare, type TurnTaker } from '../../../src/lib/read-turns';

/** One frame of an arrival takes so long to read. */
const FRAME_MS = 0.25;

let nowMs: number;
let scheduled: (() => void)[];
let log: string[];
let turns: ReadTurns<Taker>;

/** Reads one frame for each byte. */
class Taker implements TurnTaker {
  isChoked = false;
  left = 0;

  constructor(readonly name: string) {}

  mayBeRead(): boolean {
    return this.left > 0 && !this.isChoked;
  }

  keep(chunk: Buffer): void {
    this.left += chunk.length;
  }

  readOn(share: ReadShare): void {
    while (this.left > 0) {
      this.left -= 1;
      nowMs += FRAME_MS;
      log.push(this.name);
      // As large as a look at the clock is worth.
      if (share.isSpent(4096)) return;
    }
  }
}

beforeEach(() => {
  nowMs = 1000;
  scheduled = [];
  log = [];
  turns = new ReadTurns<Taker>({
    nowMs: () => nowMs,
    read: (taker, chunk, share) => {
      taker.keep(chunk);
      taker.readOn(share);
    },
    schedule: (act) => scheduled.push(act),
  });
});

/** The next turn of the loop; what was read in it. */
function turn(): string {
  log = [];
  for (const act of scheduled.splice(0)) act();
  return log.join('');
}

function frames(count: number): Buffer {
  return Buffer.alloc(count);
}

test('small input is read as it arrives, and leaves no work', () => {
  turns.arrived(new Taker('a'), frames(2));
  turns.arrived(new Taker('b'), frames(3));
  expect(log.join('')).toBe('aabbb');
  expect(turn()).toBe('');
  expect(scheduled).toEqual([]);
});

test('large input is read by shares, in turns, and other arrivals are read at once', () => {
  const [a, b] = [new Taker('a'), new Taker('b')];
  turns.arrived(a, frames(14));
  turns.arrived(b, frames(10));
  expect(log.join('')).toBe('aaaabbbb');
  // Two shares for those that wait, then others have their turn.
  expect(turn()).toBe('aaaabbbb');
  log = [];
  turns.arrived(new Taker('c'), frames(1));
  expect(log.join('')).toBe('c');
  expect(turn()).toBe('aaaabbaa');
  expect(turn()).toBe('');
  expect(scheduled).toEqual([]);
});

test('after a long turn arrivals wait, and come before peers that had a share', () => {
  const floods = Array.from({ length: 9 }, (_, index) => new Taker(String(index)));
  for (const flood of floods) turns.arrived(flood, frames(100));
  const late = new Taker('x');
  turns.arrived(late, frames(2));
  // Eight shares are a turn.
  expect(log.join('')).toBe('00001111222233334444555566667777');
  expect(turn()).toBe('00008888');
  expect(turn()).toBe('1111xx2222');
});

test('a peer that does not take its answers is not read from, and queues again when it does', () => {
  const a = new Taker('a');
  turns.arrived(a, frames(6));
  a.isChoked = true;
  expect(turn()).toBe('');
  expect(scheduled).toEqual([]);
  turns.wait(a);
  expect(scheduled).toEqual([]);
  a.isChoked = false;
  turns.wait(a);
  turns.wait(a);
  expect(turn()).toBe('aa');
  expect(turn()).toBe('');
});

test('bytes of a waiting peer are read after its earlier ones, in its turn', () => {
  const a = new Taker('a');
  turns.arrived(a, frames(6));
  turns.arrived(a, frames(1));
  expect(log.join('')).toBe('aaaa');
  expect(turn()).toBe('aaa');
});
