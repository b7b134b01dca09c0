/** A body of up to 1,024 bytes is read although others hold the whole budget. */

import type { IncomingMessage } from 'node:http';
import { PassThrough } from 'node:stream';
import { JsonBodies } from '../../../../src/server/transport/http/http-body';
import { ByteBudget } from '../../../../src/server/transport/byte-budget';

const BUDGET_BYTES = 8 * 1024;
const BYTES_MAX = 1024 * 1024;

let budget: ByteBudget;
let bodies: JsonBodies;

beforeEach(() => {
  budget = new ByteBudget(BUDGET_BYTES);
  bodies = new JsonBodies(budget);
});

function request(): PassThrough & IncomingMessage {
  return Object.assign(new PassThrough(), { headers: {} }) as unknown as PassThrough & IncomingMessage;
}

/** Resolves to the body's text, or to the status of its refusal. */
async function read(from: IncomingMessage): Promise<string | number> {
  const result = await bodies.read(from, { bytesMax: BYTES_MAX }, (body) => Promise.resolve(String(body)));
  return typeof result === 'string' ? result : result.status;
}

function text(length: number): string {
  return `"${'x'.repeat(length - 2)}"`;
}

test.each([0, 2, 1023, 1024, 1025, 2048, 2049, 5000])(
  'a body of %i bytes is read unchanged in any pieces, and frees its budget',
  async (length) => {
    const sent = length === 0 ? '' : text(length);
    for (const pieceBytes of [1, 1000, 1024, 5000]) {
      const from = request();
      const result = read(from);
      for (let at = 0; at < sent.length; at += pieceBytes) from.write(sent.slice(at, at + pieceBytes));
      from.end();
      expect(await result).toBe(sent);
      expect(budget.take(BUDGET_BYTES)).toBe(true);
      budget.giveBack(BUDGET_BYTES);
    }
  },
);

test('large bodies that hold the whole budget keep out large ones, and no small one', async () => {
  budget.take(BUDGET_BYTES);
  const small = request();
  const large = request();
  const results = [read(small), read(large)];
  small.end(text(1024));
  large.end(text(1025));
  expect(await Promise.all(results)).toEqual([text(1024), 503]);
  budget.giveBack(BUDGET_BYTES);
  expect(budget.take(BUDGET_BYTES)).toBe(true);
});
