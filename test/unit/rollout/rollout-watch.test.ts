/** A guard takes a rollout back when its stage was measured for long enough, on enough hits, and denied more than it may. */

import { MemoryRolloutCounter } from '../../../src/state/rollout/memory-rollout-counter';
import { JUDGED_HITS_MIN, RolloutWatch, type Breach } from '../../../src/state/rollout/rollout-watch';
import { stoppedBy } from '../../../src/state/rollout/stopped-rollout';
import { ControlData } from '../../../src/state/control/control-data';
import { keyOf, type ControlRecord } from '../../../src/state/control/control-record';
import { matchRequest } from '../../../src/domain/rule/match';
import type { Decision } from '../../../src/domain/decide/decision';
import type { DecidedRequest } from '../../../src/domain/respond/decided/decided-request';
import { compileText } from '../compile/compile-config';
import { entriesOf, requestOf } from '../../support/decisions/rules';

const START_US = 1_800_000_000_000_000;

const rulesWith = (rollout: string) =>
  compileText(
    `domain: d\ndescriptors:\n  - key: k\n    rate_limit: { unit: minute, requests_per_unit: 3, candidate: { requests_per_unit: 2, rollout: ${rollout} } }\n`,
  );

const GUARDED = '{ by: k, percent: 100, stop_if: { denied_above: 2%, for: 60s } }';

function open(rollout = GUARDED) {
  let nowUs = START_US;
  const data = new ControlData();
  const ruleSet = rulesWith(rollout);
  const breaches: Breach[] = [];
  const errors: unknown[] = [];
  const watch = new RolloutWatch({
    counter: new MemoryRolloutCounter(() => nowUs),
    stop: (breach) => {
      breaches.push(breach);
      return Promise.resolve();
    },
    onError: (error) => errors.push(error),
  });
  const decide = (hits: number, fits: boolean): void => {
    const request = requestOf([{ entries: entriesOf('k=v') }], { hits });
    const matched = matchRequest({ ruleSet, request, modes: { shadow: false, quota: false }, control: data });
    const currentLimit = matched.matches[0]?.limits[0];
    const status = {
      code: fits ? 'OK' : 'OVER_LIMIT',
      limitRemaining: 0,
      fits,
      denies: !fits,
      ...(currentLimit && { currentLimit }),
    } as const;
    const decision: Decision = { overallCode: status.code, statuses: [status] };
    watch.record({ request, matched, decision } as unknown as DecidedRequest);
  };
  return {
    data,
    breaches,
    errors,
    put: (record: ControlRecord, version: number) => {
      data.apply({ key: keyOf(record), version, record });
    },
    /** Hits that fit and hits that do not, so many seconds after the start. */
    at: async (seconds: number, fit: number, over: number) => {
      nowUs = START_US + seconds * 1_000_000;
      decide(fit, true);
      decide(over, false);
      await watch.flush();
    },
  };
}

test('a stage that is too young, has too few hits, or denies no more than it may, stays', async () => {
  const young = open();
  await young.at(0, 0, 1_000);
  await young.at(59, 0, 1_000);
  expect(young.breaches).toEqual([]);
  const small = open();
  await small.at(0, 1, 0);
  await small.at(100, 0, JUDGED_HITS_MIN - 1);
  expect(small.breaches).toEqual([]);
  const good = open();
  await good.at(0, 1, 0);
  await good.at(100, 98, 2);
  expect(good.breaches).toEqual([]);
  const unguarded = open('{ by: k, percent: 100 }');
  await unguarded.at(0, 1, 0);
  await unguarded.at(100, 0, 1_000);
  expect(unguarded.breaches).toEqual([]);
});

test('a breach names what was measured over the time of the guard, and the change that ends it', async () => {
  const { at, breaches, data, errors } = open();
  await at(0, 10_000, 0);
  await at(100, 97, 3);
  expect(breaches).toEqual([expect.objectContaining({ domain: 'd', rule: 'k', measured: { hits: 100, over: 3 } })]);
  expect(errors).toEqual([]);
  const [breach] = breaches;
  expect(breach && stoppedBy(breach, data, 'why')).toEqual({
    put: { kind: 'rollout', domain: 'd', rule: 'k', reason: 'why', percent: 0, stopped: true },
    expect: 'absent',
  });
});

test('what a record says is kept when a guard ends its stage, and a step begins the measurement again', async () => {
  const { at, breaches, data, put } = open('{ by: k, percent: 0 }');
  const guard = { deniedAbove: 0.02, forS: 60 };
  put({ kind: 'rollout', domain: 'd', rule: 'k', percent: 50, by: 'k', stopIf: guard }, 7);
  await at(0, 0, 1_000);
  put({ kind: 'rollout', domain: 'd', rule: 'k', percent: 100, by: 'k', stopIf: guard }, 8);
  await at(61, 0, 1_000);
  expect(breaches).toEqual([]);
  await at(122, 0, 1_000);
  const [breach] = breaches;
  expect(breach && stoppedBy(breach, data, 'why')).toMatchObject({ put: { percent: 0, stopped: true, by: 'k', stopIf: guard }, expect: 8 });
});

test('the rollout of an override ends in its own record', async () => {
  const { at, breaches, data, put } = open('{ by: k, percent: 0 }');
  put(
    {
      kind: 'override',
      domain: 'd',
      id: 'o',
      entries: [{ key: 'k' }],
      limit: { requestsPerUnit: 1, unit: 'minute' },
      candidate: true,
      rollout: { by: 'k', percent: 100, stopIf: { deniedAbove: 0.02, forS: 60 } },
      untilMs: 1_900_000_000_000,
    },
    5,
  );
  await at(0, 0, 1_000);
  await at(61, 0, 1_000);
  const [breach] = breaches;
  expect(breach?.rule).toBe('override/o');
  const ended = breach && stoppedBy(breach, data, 'why');
  expect(ended).toMatchObject({
    put: { kind: 'override', candidate: true, untilMs: 1_900_000_000_000, rollout: { by: 'k', percent: 0, stopped: true } },
    expect: 5,
  });
  // An operator was first.
  data.apply({ key: { kind: 'override', domain: 'd', name: 'o' }, version: 6 });
  expect(breach && stoppedBy(breach, data, 'why')).toBeUndefined();
});
