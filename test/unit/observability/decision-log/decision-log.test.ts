/** The decision log has the part of decisions that was asked for, chosen at random, or only denials. */

import { DecisionLog } from '../../../../src/server/observability/decision-log/decision-log';
import { answeredOf, fits, over } from '../../../support/decisions/decided-request';
import { ruleOf } from '../../../support/decisions/rules';
import { randomFrom } from '../../../support/random/random';

const DENIED = answeredOf({ rules: { k: ruleOf() }, verdicts: [over(1)] });
const ALLOWED = answeredOf({ rules: { k: ruleOf() }, verdicts: [fits(1)] });

interface Logged {
  readonly lines: number;
  /** Decisions whose line was made. */
  readonly made: number;
}

function logOf({ sample, onlyDenied }: { sample: number; onlyDenied: boolean }, decisions: number): Logged {
  const next = randomFrom({ seed: 34 });
  const random = () => next(2 ** 32) / 2 ** 32;
  let [lines, made] = [0, 0];
  const line = { of: () => `line ${(made += 1)}` };
  const writer = { add: () => (lines += 1) };
  const log = new DecisionLog({ sample, onlyDenied, line, writer, random });
  for (let i = 0; i < decisions; i += 1) log.record(i % 4 === 0 ? DENIED : ALLOWED);
  return { lines, made };
}

test('all decisions, or only denials', () => {
  expect(logOf({ sample: 1, onlyDenied: false }, 1_000).lines).toBe(1_000);
  expect(logOf({ sample: 1, onlyDenied: true }, 1_000).lines).toBe(250);
  expect(logOf({ sample: 0, onlyDenied: false }, 1_000).lines).toBe(0);
});

test.each([
  [0.01, false, 100_000],
  [0.3, true, 25_000],
])('a sample of %s is within five standard deviations, and makes no line that is not written', (sample, onlyDenied, decisions) => {
  const { lines, made } = logOf({ sample, onlyDenied }, 100_000);
  expect(made).toBe(lines);
  expect(Math.abs(lines - sample * decisions)).toBeLessThan(5 * Math.sqrt(decisions * sample * (1 - sample)));
});
