/** The bar in its short form: counts are kept to the bound, processor time to twice of it, and not a hit is over-granted. */

import { BAR, failureOf, gateOf, measureBar, NOT_YET, type BarRow } from '../../bench/bar';
import { renderDecisions, wrongCounts, type DecisionsResult } from '../../bench/decisions-report';
import { measureDecisions, SHORT } from '../../bench/measure-decisions';

/** On a busy machine; it takes a minute on a quiet one. */
const TIMEOUT_MS = 240_000;

/** The target is measured only where one is named. */
const MEASURED = BAR.filter(({ name }) => name !== 'target');

let result: DecisionsResult;

beforeAll(async () => {
  result = await measureDecisions({ ...SHORT, target: undefined, tell: () => undefined });
  process.stderr.write(`${renderDecisions(result)}\n`);
}, TIMEOUT_MS);

test('nothing is over-granted, decided without Redis, or failed, in any row', () => {
  expect(wrongCounts(result)).toEqual([]);
});

function defineTest(row: BarRow): void {
  const title = `${row.title}: at most ${row.atMost}`;
  const reason = NOT_YET[row.name];
  if (reason !== undefined) test.skip(`${title} (not yet: ${reason})`, () => undefined);
  // The generator shares its core with Redis: what is late in a short run says little.
  else if (gateOf(row) !== undefined)
    test(title, () => {
      const measured = measureBar(result.rounds).find((each) => each.row.name === row.name)!;
      expect(measured.spread).toBeDefined();
      expect(failureOf(measured)).toBeUndefined();
    });
}

MEASURED.forEach(defineTest);
