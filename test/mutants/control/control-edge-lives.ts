/** Lives of control data at the edge of each bound, with penalties, and with keys that another hand damaged or whose commands are not allowed. */

import { keyOf, type ControlRecord } from '../../../src/state/control/control-record';
import { block, MS, note, pass, positionOf, put, readAll, START_US, tenant, type HandMadeLife } from './control-lives';
import type { Recorder } from './control-recorder';

const DAY_US = 86_400_000_000;
const VERSION_MAX = 9_007_199_254_740_990n;

/** Bounds of texts in the scripts. */
const BEFORE_BYTES = 1_048_576;
const TEXT_BYTES = 262_144;

const ABOUT = '{}about';
const LOG = '{}log';
const TENANTS = '{}record:tenant';

const numbered = (count: number, untilMs: number): readonly ControlRecord[] =>
  Array.from({ length: count }, (_, i) => tenant(`t${String(i).padStart(4, '0')}`, 'p', untilMs));
const penalty = (id: string, untilMs: number) => block(`penalty-${id}`, untilMs);

/** A write that an error ends is a call like any other. */
async function tried(write: Promise<unknown>): Promise<void> {
  await write.catch(() => undefined);
}

/** A write that changes nothing: its reply says which version the data have, and it writes the sizes if it removed something. */
const touch = ({ store }: Recorder) => tried(store.write({ changes: [], audit: note('ann') }));

const look = async (life: Recorder) => {
  await tried(positionOf(life.store));
  await tried(life.store.scan({ kind: 'tenant', limit: 100 }));
};

const PENALTIES: readonly HandMadeLife[] = [
  {
    name: 'penalties up to their bound, replaced, ended, deleted',
    live: async ({ store, setNow, setBounds }) => {
      await setNow(START_US);
      setBounds({ penalties: 2 });
      await put(store, [penalty('a', MS + 10), block('b'), tenant('penalty-t'), pass('penalty-p')], { trail: 'penalties' });
      await put(store, [penalty('b', MS + 20), penalty('c', MS + 20)], { trail: 'penalties' });
      await put(store, [penalty('b', MS + 20)], { trail: 'penalties' });
      await put(store, [penalty('c', MS + 20)], { trail: 'penalties' });
      await put(store, [penalty('b', MS + 30)]);
      await put(store, [penalty('b', MS + 40), penalty('c', MS + 20)]);
      // One that ends at this instant has ended.
      for (const us of [9_999, 10_000]) {
        await setNow(START_US + us);
        await put(store, [penalty('a', MS + 50)], { dryRun: true });
        await put(store, [penalty('a', MS + 50), penalty('c', MS + 50)], { dryRun: true });
        await put(store, [penalty('c', MS + 50)], { dryRun: true });
      }
      await store.write({ changes: [{ delete: keyOf(penalty('b', 0)) }, { put: penalty('c', MS + 50) }], audit: note('ann') });
      await put(store, [penalty('d', MS + 50)]);
      await put(store, [penalty('e', MS + 50)]);
      // Without an end it is a block like any other, in another domain too.
      await put(store, [block('penalty-c'), { ...penalty('c', MS + 50), domain: '' }]);
      await put(store, [{ ...penalty('f', MS + 50), domain: '' }]);
      await store.audit({ trail: 'penalties', order: 'oldest', limit: 10 });
      await readAll(store);
    },
  },
  {
    name: 'fewer penalties allowed than there are',
    live: async ({ store, setNow, setBounds }) => {
      await setNow(START_US);
      await put(store, [penalty('a', MS + 10), penalty('b', MS + 10), tenant('e', 'p', MS + 10)]);
      setBounds({ penalties: 1, records: [0, 0, 0, 0, 0, 0] });
      await put(store, [penalty('a', MS + 20)]);
      await store.write({ changes: [{ delete: keyOf(penalty('b', 0)) }, { put: penalty('c', MS + 20) }], audit: note('ann') });
      setBounds({ penalties: 1 });
      await put(store, [penalty('c', MS + 20)]);
      await setNow(START_US + 10_000);
      await put(store, [penalty('c', MS + 20), penalty('d', MS + 20)]);
      await put(store, [penalty('c', MS + 20)]);
    },
  },
];

const ENDS: readonly HandMadeLife[] = [
  {
    name: 'one record that ended a day ago, to the millisecond',
    live: async (life) => {
      const { store, setNow } = life;
      await setNow(START_US);
      await put(store, [tenant('a', 'p', MS + 1), penalty('a', MS + 1), tenant('b')]);
      for (const us of [-1_000, 0, 1_000]) {
        await setNow(START_US + DAY_US + 1_000 + us);
        await store.write({ changes: [{ put: tenant('b'), expect: 'absent' }], audit: note('ann') });
        await look(life);
        await put(store, [tenant('c')], { dryRun: true });
        await touch(life);
      }
      await put(store, [tenant('d', 'p', MS)]);
      await touch(life);
      await look(life);
    },
  },
  {
    name: 'a full store whose one room an ended record takes',
    live: async ({ store, setNow, setBounds }) => {
      await setNow(START_US);
      setBounds({ records: [2, 2, 2, 2, 2, 2] });
      await put(store, [tenant('a', 'p', MS + 1), tenant('b')]);
      await setNow(START_US + 1_000);
      await put(store, [tenant('a'), tenant('c')]);
      await put(store, [tenant('a')]);
      await put(store, [tenant('b', 'p', MS + 2)]);
      await setNow(START_US + 2_000);
      await put(store, [tenant('c'), tenant('d')]);
      await put(store, [tenant('c')]);
      await readAll(store);
    },
  },
  {
    name: 'ends that name no record',
    live: async (life) => {
      const { store, setNow, command } = life;
      await setNow(START_US);
      await put(store, [tenant('a'), penalty('a', MS + DAY_US)]);
      for (const member of ['', 'x1 d/a', '1', '12 d/a', '1 ', 'garbage']) await command('ZADD', '{}ends', '1', member);
      await touch(life);
      await readAll(store);
    },
  },
];

/** Numbers that another hand wrote, and logs that are behind or ahead of them. */
const VERSIONS: readonly HandMadeLife[] = [
  {
    name: 'versions that are damaged, behind and ahead',
    live: async (life) => {
      const { store, setNow, command } = life;
      await setNow(START_US);
      for (const name of ['a', 'b', 'c']) await put(store, [tenant(name)]);
      const position = (await positionOf(store))!;
      const own = String(START_US);
      for (const version of [
        'x5',
        '5x',
        `x${own}`,
        `${own}x`,
        `${own}0`,
        `${own}00`,
        '',
        String(START_US - 50),
        String(START_US + 50),
        '0',
        own,
      ]) {
        await command('HSET', ABOUT, 'version', version);
        await look(life);
        await tried(store.changesAfter({ ...position, version: START_US }));
        await touch(life);
        await tried(put(store, [], { base: { ...position, version: START_US + 2 } }));
      }
      for (const discarded of ['x5', '5x', `${own}00`, own]) {
        await command('HSET', ABOUT, 'discarded', discarded);
        await look(life);
      }
      // Behind the log: the next version is later than both, and so it is ahead of it.
      for (const version of [START_US - 50, START_US + 50]) {
        await command('HSET', ABOUT, 'version', String(version));
        await put(store, [tenant('d', String(version))]);
        await look(life);
      }
    },
  },
  {
    name: 'logs at the end of all numbers',
    live: async (life) => {
      const { store, setNow, command } = life;
      await setNow(START_US);
      await put(store, [tenant('a')]);
      for (const last of [VERSION_MAX - 1n, VERSION_MAX, VERSION_MAX + 1n]) {
        await command('DEL', LOG);
        await command('XADD', LOG, `${last}-0`, '1 d%2Fb', '');
        for (const version of [String(START_US), 'x', '7']) {
          await command('HSET', ABOUT, 'version', version);
          await look(life);
          await touch(life);
        }
        await command('HSET', ABOUT, 'version', 'x');
        await tried(put(store, [tenant('a', String(last))]));
        await look(life);
      }
    },
  },
  {
    name: 'a clock at the beginning of time',
    live: async (life) => {
      const { store, setNow, command } = life;
      await setNow(0);
      await put(store, [tenant('a')]);
      await command('DEL', LOG);
      await command('XADD', LOG, `${VERSION_MAX}-0`, '1 d/b', '');
      await command('HSET', ABOUT, 'version', 'x');
      await put(store, [tenant('a', 'q')]);
      await look(life);
    },
  },
  {
    name: 'a version behind which the log ends: a step of it, and one more',
    live: async (life) => {
      const { store, setNow, command } = life;
      await setNow(START_US);
      for (let i = 0; i < 23; i += 1) await put(store, [tenant('t', `p${i}`)]);
      const { epoch } = (await positionOf(store))!;
      await command('HSET', ABOUT, 'version', String(START_US + 99));
      for (const from of [0, 1, 2, 3, 4, 21, 22, 23]) await store.changesAfter({ epoch, version: START_US + from });
    },
  },
  {
    name: 'writes that require a position',
    live: async ({ store, setNow }) => {
      await setNow(START_US);
      await put(store, [tenant('a')], { base: { epoch: 'e', version: 0 } });
      await put(store, [tenant('a')], { base: 'empty' });
      await put(store, [tenant('b')], { base: 'empty' });
      const { epoch, version } = (await positionOf(store))!;
      await put(store, [tenant('c')], { base: { epoch: 'e', version } });
      await put(store, [tenant('c')], { base: { epoch, version: version + 1 } });
      await put(store, [tenant('c')], { base: { epoch, version } });
      await put(store, [tenant('d')], { base: { epoch, version } });
    },
  },
];

const LOST: readonly HandMadeLife[] = [
  {
    name: 'hashes of records that are lost, restored, and dropped',
    live: async (life) => {
      const { store, setNow, command } = life;
      await setNow(START_US);
      await put(store, [tenant('a'), tenant('b'), tenant('c'), pass('a'), block('a')]);
      await command('DEL', TENANTS);
      await look(life);
      await store.write({ changes: [{ put: tenant('a'), expect: { restores: 1 } }], audit: note('ann') });
      await look(life);
      await store.write({ changes: [{ put: tenant('a', 'q'), expect: { restores: START_US + 9 } }], audit: note('ann') });
      await look(life);
      await put(store, [tenant('d')]);
      await put(store, [tenant('a', 'r'), tenant('b')]);
      await look(life);
      await store.write({ changes: [{ delete: keyOf(pass('a')) }], audit: note('ann') });
      await command('DEL', '{}record:pass', '{}record:block');
      await touch(life);
      await look(life);
      await store.discardLost(note('ann'));
      await look(life);
    },
  },
  {
    name: 'sizes that are damaged or absent',
    live: async (life) => {
      const { store, setNow, command } = life;
      await setNow(START_US);
      await put(store, [tenant('a'), tenant('b')]);
      const version = String(START_US);
      const sizes = [
        '',
        'x',
        version,
        `x${version} 5 5 5 5 5`,
        `${version} x 5 5 5 5 5`,
        `${version} 0 0 0 0 0`,
        `${version} 2 1 0 3 0`,
        '1 5 5 5 5 5',
      ];
      for (const [i, size] of sizes.entries()) {
        await command('HSET', ABOUT, 'version', version, 'sizes', size);
        await look(life);
        await put(store, [tenant('a', `p${i}`)]);
        await look(life);
      }
      await command('HDEL', ABOUT, 'sizes');
      await put(store, [tenant('c')]);
      await look(life);
    },
  },
  {
    name: 'sizes that are absent when ended records are removed',
    live: async (life) => {
      const { store, setNow, command } = life;
      await setNow(START_US);
      await put(store, [tenant('a', 'p', MS + 1), tenant('b'), pass('a')]);
      await command('HDEL', ABOUT, 'sizes');
      await setNow(START_US + DAY_US + 2_000);
      await touch(life);
    },
  },
];

const DAMAGED: readonly HandMadeLife[] = [
  {
    name: 'records that are damaged or too long',
    live: async (life) => {
      const { store, setNow, command } = life;
      await setNow(START_US);
      await put(store, [tenant('a'), tenant('b'), tenant('c')]);
      const key = keyOf(tenant('a'));
      const start = '5 {"kind":"tenant","domain":"d","tenant":"a","plan":"p"';
      for (const value of ['', 'x', `x${start}}`, start, `${start}}`, '99999999999999999 {}']) {
        await command('HSET', TENANTS, 'd/a', value);
        await store.read([key]);
        await look(life);
        for (const expect of ['absent', 5, { restores: 6 }] as const)
          await store.write({ changes: [{ put: tenant('a', 'q'), expect }], audit: note('ann'), dryRun: true });
      }
      await put(store, [tenant('a', 'q')]);
      await look(life);
    },
  },
  {
    name: 'a record as long as an audit entry shows',
    live: async ({ store, setNow, setBounds }) => {
      await setNow(START_US);
      const bytes = '{"kind":"tenant","domain":"d","tenant":"a","plan":"p"}'.length;
      for (const [i, auditBytes] of [bytes - 1, bytes, bytes + 1, bytes + 17, bytes + 18].entries()) {
        setBounds({ auditBytes });
        await put(store, [tenant('a', i % 2 === 0 ? 'p' : 'q')]);
      }
    },
  },
  {
    name: 'keys of another type',
    live: async (life) => {
      const { store, setNow, command } = life;
      await setNow(START_US);
      await put(store, [tenant('a'), penalty('a', MS + 1)], { trail: 'penalties', id: 'w' });
      await setNow(START_US + DAY_US + 2_000);
      for (const key of ['about', 'log', 'audit', 'ends', 'penalty-ends', 'record:tenant', 'record:pass']) {
        await command('COPY', `{}${key}`, 'kept', 'REPLACE');
        await command('SET', `{}${key}`, 'x');
        await tried(put(store, [tenant('b', key), penalty('b', MS * 2)]));
        await look(life);
        await command('DEL', `{}${key}`);
        await command('COPY', 'kept', `{}${key}`);
        await command('DEL', 'kept');
      }
    },
  },
  {
    name: 'an id of a write that holds something else',
    live: async ({ store, setNow, command }) => {
      await setNow(START_US);
      for (const value of ['x', ' 5', 'x y', 'x 5 6']) {
        await command('SET', '{}write:w', value);
        await store.write({ changes: [{ put: tenant('a'), expect: 7 }], audit: note('ann'), id: 'w' });
      }
      await put(store, [tenant('a')], { id: 'w' });
      await command('SET', '{}write:v', 'x');
      await store.write({ changes: [{ put: tenant('a'), expect: 7 }], audit: note('ann'), id: 'v' });
    },
  },
  {
    name: 'commands that the user may not run: a write fails as a whole',
    live: async ({ store, setNow, command }) => {
      await setNow(START_US);
      await put(store, [tenant('a', 'p', MS + 1), penalty('a', MS + 1)]);
      for (const us of [0, DAY_US + 2_000]) {
        await setNow(START_US + us);
        for (const name of ['xadd', 'zadd', 'zrem', 'hdel', 'hset', 'set']) {
          await command('ACL', 'SETUSER', 'default', `-${name}`);
          await tried(put(store, [tenant('b', name, MS * 2), penalty('b', MS * 2)], { id: 'w' }));
          await command('ACL', 'SETUSER', 'default', '+@all');
        }
      }
      await put(store, [tenant('b')], { id: 'w' });
    },
  },
];

export const EDGE_LIVES: readonly HandMadeLife[] = [...PENALTIES, ...ENDS, ...VERSIONS, ...LOST, ...DAMAGED];

/** Those that take longest, which few mutants have to live. */
export const BIG_LIVES: readonly HandMadeLife[] = [
  {
    name: 'a day after more ended than a write removes',
    live: async (life) => {
      const { store, setNow } = life;
      await setNow(START_US);
      await put(store, numbered(402, MS + 1));
      await setNow(START_US + DAY_US + 2_000);
      for (let i = 0; i < 2; i += 1) await touch(life);
      await positionOf(store);
    },
  },
  {
    name: 'a full store in which more have ended than a write removes',
    live: async ({ store, setNow, setBounds }) => {
      await setNow(START_US);
      await put(store, numbered(1_402, MS + 1));
      await setNow(START_US + 2_000);
      setBounds({ records: [2, 9, 9, 9, 9, 9] });
      await put(store, [tenant('a')], { dryRun: true });
      await put(store, [tenant('a')]);
      await store.write({ changes: [{ delete: keyOf(tenant('a')) }, { put: tenant('t1401'), expect: 'absent' }], audit: note('ann') });
    },
  },
  {
    name: 'a full store in which one more has ended than a write removes, or just as many',
    live: async ({ store, setNow, setBounds }) => {
      for (const [i, count] of [1_001, 1_000, 400, 200].entries()) {
        const startMs = MS + i * 10;
        await setNow(startMs * 1_000);
        setBounds({});
        await put(store, numbered(count, startMs + 1));
        await setNow((startMs + 1) * 1_000);
        setBounds({ records: [i, 9, 9, 9, 9, 9] });
        await put(store, [tenant(`a${i}`), tenant(`b${i}`)]);
        await store.changesAfter(undefined);
        await put(store, [tenant(`a${i}`)]);
      }
    },
  },
  {
    name: 'a full store that has room as soon as some have been removed',
    live: async ({ store, setNow, setBounds }) => {
      await setNow(START_US);
      await put(store, numbered(402, MS + 1));
      await setNow(START_US + 2_000);
      setBounds({ records: [300, 9, 9, 9, 9, 9] });
      await put(store, [tenant('a')]);
    },
  },
  {
    name: 'so many records that a scan needs its cursor, and one that is damaged',
    live: async ({ store, setNow, command }) => {
      await setNow(START_US);
      await put(store, numbered(150, MS * 2));
      await command('HSET', TENANTS, 'd/t0007', 'x');
      await store.scan({ kind: 'tenant', limit: 1_000 });
    },
  },
  {
    name: 'records that are too long',
    live: async ({ store, setNow, command }) => {
      await setNow(START_US);
      await put(store, [tenant('a'), tenant('b')]);
      await command('HSET', TENANTS, 'd/b', 'x');
      const start = '5 {"kind":"tenant","domain":"d","tenant":"a","plan":"p"';
      const long = (bytes: number) => `${start}${' '.repeat(bytes - start.length - 1)}}`;
      for (const bytes of [TEXT_BYTES, TEXT_BYTES + 1]) {
        await command('HSET', TENANTS, 'd/a', long(bytes));
        await store.read([keyOf(tenant('a'))]);
        await store.scan({ kind: 'tenant', limit: 100 });
      }
      for (const bytes of [BEFORE_BYTES, BEFORE_BYTES + 1]) {
        await command('HSET', TENANTS, 'd/a', long(bytes));
        await store.write({ changes: [{ put: tenant('a', 'q'), expect: 'absent' }], audit: note('ann') });
      }
    },
  },
];
