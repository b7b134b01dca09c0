/** A fault of a recorder turns no decision into an error. */

import { recordInAll } from '../../../src/server/observability/record-in-all';
import { makeShouldRateLimit } from '../../../src/should-rate-limit';
import type { DecidedRequest } from '../../../src/domain/respond/decided/decided-request';
import { MemoryStore } from '../../../src/state/store/memory/memory-store';
import { alone } from '../../support/decisions/decide-one';
import { entriesOf, levelOf, limitOf, requestOf, ruleOf, ruleSetOf } from '../../support/decisions/rules';

test('a recorder that throws turns no decision into an error', async () => {
  const rules = ruleSetOf(levelOf({ merchant: ruleOf({ limits: [limitOf({ requestsPerUnit: 1, unit: 'hour' })] }) }));
  const fault = new Error('a bug');
  const errors: unknown[] = [];
  const recorded: DecidedRequest[] = [];
  const decide = alone(
    makeShouldRateLimit({
      ruleSet: () => rules,
      store: new MemoryStore({ nowUs: () => 0, bucketsMax: 10 }),
      modes: { shadow: false, quota: false },
      keyPrefix: '',
      nowUs: () => 0,
      record: recordInAll({
        recorders: [
          () => {
            throw fault;
          },
          (decided) => {
            recorded.push(decided);
          },
        ],
        onError: (error) => errors.push(error),
      }),
    }),
  );
  const ask = () => decide(requestOf([{ entries: entriesOf('merchant=1') }]), {});
  expect((await ask()).overallCode).toBe('OK');
  expect((await ask()).overallCode).toBe('OVER_LIMIT');
  expect(errors).toEqual([fault, fault]);
  expect(recorded).toHaveLength(2);
});
