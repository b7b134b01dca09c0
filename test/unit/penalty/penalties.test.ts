/** A penalty blocks a caller at the n-th denial, with bounded memory, and delays no decision. */

import type { DecidedRequest } from '../../../src/domain/respond/decided/decided-request';
import { makeShouldRateLimit } from '../../../src/should-rate-limit';
import {
  COUNTED_MAX,
  Penalties,
  PENDING_BYTES_MAX,
  PENDING_MAX,
  SHARERS_MAX,
  type PenaltyBlock,
} from '../../../src/state/penalty/penalties';
import { penaltyRecord } from '../../../src/state/penalty/penalty-record';
import { describeRules } from '../../../src/configuration/source/describe-rules';
import { MemoryStore } from '../../../src/state/store/memory/memory-store';
import type { Store } from '../../../src/state/store/port/store';
import { StoreError } from '../../../src/state/store/port/store-error';
import { compileText, problemsOf } from '../compile/compile-config';
import { alone } from '../../support/decisions/decide-one';
import { entriesOf, requestOf } from '../../support/decisions/rules';

const START_US = 1_800_057_600_000_000;
const START_MS = START_US / 1_000;

const CONFIG = `domain: d
descriptors:
  - key: merchant
    rate_limit: { unit: hour, requests_per_unit: 1 }
    penalty: { denials: 3, within: 1m, block: 10m }
  - key: other
    rate_limit: { unit: hour, requests_per_unit: 0 }
  - key: path
    value: "files/*"
    share_threshold: true
    rate_limit: { unit: hour, requests_per_unit: 0 }
    penalty: { denials: 3, within: 1m, block: 10m }
  - key: agent
    value: "*"
    share_threshold: true
    rate_limit: { unit: hour, requests_per_unit: 0 }
    penalty: { denials: 3, within: 1m, block: 10m }
`;

function open({ shadow = false, store }: { readonly shadow?: boolean; readonly store?: Pick<Store, 'take'> } = {}) {
  const ruleSet = compileText(CONFIG);
  let nowUs = START_US;
  const memory = new MemoryStore({ nowUs: () => nowUs, bucketsMax: 100_000 });
  const blocks: PenaltyBlock[] = [];
  const errors: unknown[] = [];
  let dropped = 0;
  const penalties = new Penalties({
    store: store ?? memory,
    keyPrefix: '',
    block: (reached) => {
      blocks.push(...reached);
      return Promise.resolve(reached);
    },
    onDropped: (denials) => {
      dropped += denials;
    },
    onError: (error) => errors.push(error),
  });
  let last: DecidedRequest | undefined;
  const decide = alone(
    makeShouldRateLimit({
      ruleSet: () => ruleSet,
      store: memory,
      modes: { shadow, quota: false },
      keyPrefix: '',
      nowUs: () => nowUs,
      record: (decided) => {
        last = decided;
        penalties.record(decided);
      },
    }),
  );
  return {
    penalties,
    blocks,
    errors,
    dropped: () => dropped,
    last: () => last!,
    wait: (us: number) => {
      nowUs += us;
    },
    ask: async (...keys: string[]) => (await decide(requestOf(keys.map((key) => ({ entries: entriesOf(key) }))), {})).overallCode,
    deny: async (times: number, merchant = 'm') => {
      for (let i = 0; i < times; i += 1) await decide(requestOf([{ entries: entriesOf(`merchant=${merchant}`) }]), {});
    },
  };
}

test('the n-th denial within the window blocks its entries, and no earlier one', async () => {
  const { penalties, blocks, deny } = open();
  await deny(3);
  await penalties.flush();
  expect(blocks).toEqual([]);
  await deny(1);
  await penalties.flush();
  expect(blocks).toMatchObject([{ domain: 'd', path: ['merchant'], entries: [{ key: 'merchant', value: 'm' }], penalty: { denials: 3 } }]);
});

test('after a block the count starts again', async () => {
  const { penalties, blocks, deny } = open();
  await deny(10);
  await penalties.flush();
  expect(blocks).toHaveLength(1);
  await deny(2);
  await penalties.flush();
  expect(blocks).toHaveLength(1);
  await deny(1);
  await penalties.flush();
  expect(blocks).toHaveLength(2);
});

test('denials that are further apart than the window do not block', async () => {
  const { penalties, blocks, deny, wait } = open();
  await deny(3);
  await penalties.flush();
  wait(120_000_000);
  await deny(2);
  await penalties.flush();
  expect(blocks).toEqual([]);
});

test('only the descriptor that denies counts, and a block of control data or SHADOW_MODE never does', async () => {
  const { penalties, blocks, ask, last } = open();
  for (let i = 0; i < 5; i += 1) expect(await ask('merchant=m', 'other=o')).toBe('OVER_LIMIT');
  await penalties.flush();
  expect(blocks).toEqual([]);
  await ask('merchant=m');
  await ask('merchant=m');
  const denied = last();
  for (let i = 0; i < 5; i += 1) penalties.record({ ...denied, matched: { ...denied.matched, blocked: true } });
  await penalties.flush();
  expect(blocks).toEqual([]);
  const shadow = open({ shadow: true });
  await shadow.deny(10);
  await shadow.penalties.flush();
  expect(shadow.blocks).toEqual([]);
});

test('two processes on one store count together', async () => {
  const store = new MemoryStore({ nowUs: () => START_US, bucketsMax: 100 });
  const [one, other] = [open({ store }), open({ store })];
  await one.deny(3);
  await other.deny(2);
  await one.penalties.flush();
  await other.penalties.flush();
  expect([one.blocks.length, other.blocks.length]).toEqual([0, 1]);
});

test('a store that fails loses the denials, which are counted as dropped, and no decision', async () => {
  const { penalties, deny, dropped, errors, ask } = open({ store: { take: () => Promise.reject(new StoreError('away', 'connection')) } });
  await deny(5);
  await penalties.flush();
  expect(dropped()).toBe(4);
  expect(errors).toHaveLength(1);
  expect(await ask('merchant=m')).toBe('OVER_LIMIT');
});

test('the memory and the calls for many denied entries are bounded', async () => {
  const sizes: number[] = [];
  const store: Pick<Store, 'take'> = {
    take: (groups) => {
      sizes.push(groups.length);
      return Promise.resolve([]);
    },
  };
  const { penalties, deny, last, dropped } = open({ store });
  await deny(2);
  const denied = last();
  for (let i = 0; i < PENDING_MAX + 10; i += 1) {
    penalties.record({ ...denied, request: requestOf([{ entries: entriesOf(`merchant=${i}`) }]) });
  }
  expect(dropped()).toBe(11);
  await penalties.flush();
  await penalties.flush();
  expect(sizes).toEqual([COUNTED_MAX, COUNTED_MAX]);
});

test('entries that wait to be counted are bounded in bytes, and those that no record can name are not kept', async () => {
  const { penalties, deny, last, dropped, blocks } = open();
  await deny(2);
  const denied = last();
  const record = (merchant: string) => {
    penalties.record({ ...denied, request: requestOf([{ entries: [{ key: 'merchant', value: merchant }] }]) });
  };
  const count = async () => {
    while (penalties.waiting > 0) await penalties.flush();
  };
  await count();
  for (let i = 0; i < PENDING_MAX; i += 1) record(`${i}-`.padEnd(64_000, 'x'));
  expect(dropped()).toBe(0);
  await count();
  expect(blocks).toEqual([]);
  const value = 'x'.repeat(1_500);
  for (let i = 0; i < PENDING_MAX; i += 1) record(`${i}-${value}`);
  expect(penalties.waiting).toBeLessThan(PENDING_BYTES_MAX / value.length);
  expect(dropped()).toBe(PENDING_MAX - penalties.waiting);
  await count();
  // The room is there again.
  for (let i = 0; i < 3; i += 1) record(value);
  await count();
  expect(blocks.map(({ entries }) => entries)).toEqual([[{ key: 'merchant', value }]]);
});

test('the block names rule, entries, reason and end; entries that are not UTF-8 have none', async () => {
  const { penalties, blocks, deny } = open();
  await deny(4, 'm\u00c3\u00bcller');
  await penalties.flush();
  const [block] = blocks;
  const record = penaltyRecord(block!, START_MS);
  expect(record).toMatchObject({
    kind: 'block',
    domain: 'd',
    entries: [{ key: 'merchant', value: 'müller' }],
    untilMs: START_MS + 600_000,
    reason: 'penalty: 3 denials within 60 s by the rule merchant',
  });
  expect(record?.id).toBe(penaltyRecord(block!, START_MS + 1)?.id);
  expect(penaltyRecord({ ...block!, entries: [{ key: 'merchant', value: '\u00ff' }] }, START_MS)).toBeUndefined();
  expect(penaltyRecord({ ...block!, path: ['é'.repeat(400)] }, START_MS)?.reason).toMatch(/…$/);
  // Two of these are more than a record of a penalty may have.
  const long = { key: 'merchant', value: 'x'.repeat(1_024) };
  expect(penaltyRecord({ ...block!, entries: [long] }, START_MS)?.entries).toEqual([long]);
  expect(penaltyRecord({ ...block!, entries: [long, { ...long, key: 'agent' }] }, START_MS)).toBeUndefined();
});

test('a penalty without its fields is refused, and without a limit has no effect', () => {
  const withPenalty = (penalty: string) =>
    `domain: d\ndescriptors: [{ key: k, rate_limit: { unit: day, requests_per_unit: 1 }, penalty: ${penalty} }]\n`;
  expect(problemsOf(withPenalty('{ denials: 0, within: 1m, block: 1m }'))).toEqual([
    'c.yaml:2:94: descriptors[0].penalty.denials: 0 must be a whole number from 1 to 4294967295',
  ]);
  expect(problemsOf(withPenalty('{ denials: 1 }'))).toHaveLength(2);
  expect(compileText('domain: d\ndescriptors: [{ key: k, penalty: { denials: 1, within: 1m, block: 1m } }]\n').warnings).toEqual([
    expect.stringContaining('descriptors[0].penalty: has no effect on a descriptor without a limit'),
  ]);
  expect(describeRules(compileText(CONFIG))[0]).toContain('penalty: denials 3 within 60s block 600s');
});

describe('with share_threshold', () => {
  test('denials count by bucket, as the limit does, and each of the entries that were denied is blocked', async () => {
    const { penalties, blocks, ask } = open();
    await ask('path=files/a');
    await ask('path=files/b');
    await penalties.flush();
    expect(blocks).toEqual([]);
    await ask('path=files/b');
    await ask('path=files/c');
    await penalties.flush();
    expect(blocks.map(({ entries }) => entries)).toEqual([[{ key: 'path', value: 'files/b' }], [{ key: 'path', value: 'files/c' }]]);
  });

  test('a pattern for all values is blocked for all values', async () => {
    const { penalties, blocks, ask } = open();
    for (const agent of ['a', 'b', 'c']) await ask(`agent=${agent}`);
    await penalties.flush();
    expect(blocks.map(({ entries }) => entries)).toEqual([[{ key: 'agent' }]]);
    expect(penaltyRecord(blocks[0]!, START_MS)).toMatchObject({ kind: 'block', entries: [{ key: 'agent' }] });
  });

  test('the entries of one bucket that are blocked at once are bounded', async () => {
    const { penalties, blocks, ask } = open();
    for (let i = 0; i < 3 * SHARERS_MAX; i += 1) await ask(`path=files/${i}`);
    await penalties.flush();
    expect(blocks).toHaveLength(SHARERS_MAX);
  });
});
