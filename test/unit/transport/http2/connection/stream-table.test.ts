/** The table of streams equals a Map for streams that begin and end at random. */

import { Stream } from '../../../../../src/server/transport/http2/connection/stream';
import { StreamTable } from '../../../../../src/server/transport/http2/connection/stream-table';
import { randomFrom } from '../../../../support/random/random';

function streamOf(id: number): Stream {
  return new Stream(id, 65_535, undefined);
}

test('the table equals a Map for streams that begin and end at random, some of them late', () => {
  const random = randomFrom();
  for (let run = 0; run < 20; run += 1) {
    const table = new StreamTable();
    const open = new Map<number, Stream>();
    let wrong = 0;
    // Streams that come together, and how far a peer counts up: by so much that all fall into one place, now and then.
    const [most, step] = [1 + random(600), random(4) === 0 ? 512 : 2];
    for (let id = 1, turn = 0; turn < 5000; turn += 1) {
      if (open.size < most && random(2) === 0) {
        const stream = streamOf(id);
        table.open(stream);
        open.set(id, stream);
        id += step;
      } else if (open.size > 0) {
        // Nearly always one of those that came first, as they do when they are answered.
        const ids = [...open.keys()];
        const ended = open.get(ids[random(10) === 0 ? random(ids.length) : 0]!)!;
        table.delete(ended);
        table.delete(ended);
        open.delete(ended.id);
        if (ended.isOpen || table.get(ended.id) !== undefined) wrong += 1;
      }
      const asked = random(id + 2);
      if (table.get(asked) !== open.get(asked) || table.load !== open.size) wrong += 1;
    }
    expect(wrong).toBe(0);
    expect([...table.values()].map((stream) => stream.id).sort((a, b) => a - b)).toEqual([...open.keys()]);
    for (const stream of open.values()) expect(stream.isOpen).toBe(true);
    table.clear();
    expect([
      table.load,
      [...table.values()],
      [...open.values()].some((stream) => stream.isOpen || table.get(stream.id) !== undefined),
    ]).toEqual([0, [], false]);
  }
});
