/** A replay of what a live Weir was sent over gRPC has the verdicts that its callers got, under every algorithm. */

import { ALGORITHMS } from '../../../src/domain/algorithm/algorithms';
import type { RateLimitRequest } from '../../../src/domain/descriptor/descriptor';
import { makeShouldRateLimit } from '../../../src/should-rate-limit';
import { MemoryStore } from '../../../src/state/store/memory/memory-store';
import { alone } from '../../support/decisions/decide-one';
import { randomFrom, seededInFull } from '../../support/random/random';
import { configurationOf, replayOf } from '../../support/replay/replay-of';
import { Harness } from '../../support/servers/transport-harness';

const START_US = Date.UTC(2026, 10, 23, 23, 59, 0) * 1_000;
const RUNS = 4;
const REQUESTS = 50;
const OVER_LIMIT = 2;
/** On the wire. */
const MINUTE = 2;
const TIMEOUT_MS = 60_000;

interface Sent {
  readonly atUs: number;
  readonly request: RateLimitRequest;
}

/** A line of the decision log. */
function lineOf({ atUs, request: { domain, descriptors, hits } }: Sent): string {
  const time = `${new Date(Math.floor(atUs / 1_000)).toISOString().slice(0, -1)}${String(atUs % 1_000).padStart(3, '0')}Z`;
  const shown = descriptors.map(({ entries, hits: own, override }) => ({
    entries,
    ...(own !== undefined && { hits: own }),
    ...(override && {
      limit: { requests_per_unit: override.requestsPerUnit, unit: override.unit, unit_multiplier: override.unitMultiplier },
    }),
  }));
  return JSON.stringify({ time, domain, descriptors: shown, hits, code: 'OK', decided_by: 'store' });
}

test.each(ALGORITHMS)(
  '%s',
  async (algorithm) => {
    const { numRuns, seed } = seededInFull(RUNS);
    const random = randomFrom({ seed });
    const harness = await Harness.start('lean');
    let denied = 0;
    try {
      for (let run = 0; run < numRuns; run += 1) {
        const limit = (unit: string) => `{unit: ${unit}, requests_per_unit: ${1 + random(4)}, algorithm: ${algorithm}}`;
        const configuration = await configurationOf(
          `domain: shop\ndescriptors:\n  - {key: merchant, rate_limit: ${limit('minute')}}\n  - {key: path, rate_limit: ${limit('second')}}\n`,
        );
        const { ruleSet, modes, keyPrefix } = configuration;
        const clock = { nowUs: START_US };
        const nowUs = () => clock.nowUs;
        const store = new MemoryStore({ nowUs, bucketsMax: 10_000 });
        const decide = alone(makeShouldRateLimit({ ruleSet: () => ruleSet, modes, keyPrefix, store, nowUs, record: () => undefined }));
        const sent: Sent[] = [];
        harness.decide = (request, call) => {
          sent.push({ atUs: clock.nowUs, request });
          return decide(request, call);
        };
        const expected = { denied: 0, merchant: 0, path: 0 };
        for (let i = 0; i < REQUESTS; i += 1) {
          clock.nowUs += [0, 1, 300_000, 1_000_000 + random(30_000_000)][random(4)] ?? 0;
          // One merchant always brings its limit: a store may forget a bucket once it is full under the limit that was last used on it.
          const merchant = random(3);
          const override = merchant === 0 ? { limit: { requests_per_unit: 1, unit: MINUTE } } : {};
          const answer = await harness.ask({
            domain: 'shop',
            descriptors: [
              { entries: [{ key: 'merchant', value: `m${merchant}ü` }], ...override },
              { entries: [{ key: 'path', value: `/${random(2)}` }] },
            ],
            hits_addend: random(3),
          });
          if (answer.overall_code === OVER_LIMIT) expected.denied += 1;
          if (answer.statuses[0]?.code === OVER_LIMIT) expected.merchant += 1;
          if (answer.statuses[1]?.code === OVER_LIMIT) expected.path += 1;
        }
        const report = await replayOf({ logs: [sent.map(lineOf).join('\n')], configurations: [configuration] });
        const of = (rule: string) => report.rules.find((each) => each.rule === rule)?.denied;
        expect(report).toMatchObject({ requests: REQUESTS, lines_wrong: 0 });
        expect({ denied: report.configurations[0]?.denied, merchant: of('shop.merchant'), path: of('shop.path') }).toEqual(expected);
        denied += expected.denied;
      }
    } finally {
      await harness.stop();
    }
    expect(denied).toBeGreaterThan(0);
  },
  TIMEOUT_MS,
);
