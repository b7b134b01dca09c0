/** A sample of the live tail says what a candidate would have decided. */

import { DecisionTail } from '../../../src/server/observability/tail/decision-tail';
import type { TailSample } from '../../../src/server/observability/tail/tail-sample';
import { makeShouldRateLimit } from '../../../src/should-rate-limit';
import { MemoryStore } from '../../../src/state/store/memory/memory-store';
import { alone } from '../../support/decisions/decide-one';
import { entriesOf, requestOf } from '../../support/decisions/rules';
import { compileText } from '../compile/compile-config';

const CONFIG = `domain: d
descriptors:
  - key: merchant
    rate_limit: { name: per merchant, unit: hour, requests_per_unit: 5, candidate: { requests_per_unit: 1 } }
  - key: plain
    rate_limit: { unit: hour, requests_per_unit: 5 }
`;

test('a sample says whom a candidate would have denied, and nothing of candidates where there are none', async () => {
  const tail = new DecisionTail({ nowMs: () => 0 });
  const samples: TailSample[] = [];
  tail.open(1, { entries: [], deniedOnly: false, perSecond: 100 }, (sample) => samples.push(sample));
  const rules = compileText(CONFIG);
  const decide = alone(
    makeShouldRateLimit({
      ruleSet: () => rules,
      store: new MemoryStore({ nowUs: () => 0, bucketsMax: 10 }),
      modes: { shadow: false, quota: false },
      keyPrefix: '',
      nowUs: () => 0,
      record: (decided) => {
        tail.record(decided);
      },
    }),
  );
  const ask = (entry: string) => decide(requestOf([{ entries: entriesOf(entry) }]), {});
  for (const entry of ['merchant=m', 'merchant=m', 'plain=p']) await ask(entry);
  tail.close(1);
  await ask('merchant=m');
  expect(samples.map(({ overLimit, descriptors }) => [overLimit, descriptors[0]?.candidates?.map((each) => each.overLimit)])).toEqual([
    [false, [false]],
    [false, [true]],
    [false, undefined],
  ]);
  expect(samples[0]).toMatchObject({
    pid: process.pid,
    descriptors: [{ limit: { requestsPerUnit: 5 }, candidates: [{ name: 'per merchant', requestsPerUnit: 1, unit: 'hour' }] }],
  });
});
