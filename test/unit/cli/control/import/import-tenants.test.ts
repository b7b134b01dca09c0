/** An import of tenants reports a server that stops or refuses, and doubled tenants. */

import { AdminError } from '../../../../../src/program/cli/admin/admin-error';
import {
  TenantImport,
  type ImportBody,
  type ImportOptions,
  type ImportReply,
} from '../../../../../src/program/cli/control/import/import-tenants';
import { SeenTenants } from '../../../../../src/program/cli/control/import/seen-tenants';
import type { Line } from '../../../../../src/program/cli/control/import/tenant-rows';

async function* linesOf(count: number): AsyncGenerator<Line> {
  for (let i = 0; i < count; i += 1) yield await Promise.resolve({ line: i + 2, row: { tenant: `t${i}`, plan: 'p' } });
}

const written = ({ items }: ImportBody): ImportReply => ({
  dry_run: false,
  written: items.length,
  same: 0,
  refused: [],
  without_effect: [],
});

function importWith(send: (body: ImportBody, call: number) => ImportReply, options: Partial<ImportOptions> = {}) {
  const bodies: ImportBody[] = [];
  const waits: number[] = [];
  const made = new TenantImport({
    send: async (body) => {
      bodies.push(body);
      return Promise.resolve(send(body, bodies.length));
    },
    source: 'tenants.csv',
    reason: undefined,
    nowMs: () => 0,
    pause: () => Promise.resolve(),
    onProgress: () => undefined,
    onNamed: () => undefined,
    onPause: (_, waitMs) => waits.push(waitMs),
    ...options,
  });
  return { made, bodies, waits };
}

test('a batch without an answer is sent again, and the others once', async () => {
  const { made, bodies, waits } = importWith((body, call) => {
    if (call === 2 || call === 3) throw new AdminError('no answer');
    return written(body);
  });
  expect(await made.run(linesOf(120))).toMatchObject({ line: 121, tenants: 120, written: 120 });
  expect(bodies.map(({ source }) => source)).toEqual([
    'tenants.csv, lines 2 to 51',
    ...Array<string>(3).fill('tenants.csv, lines 52 to 101'),
    'tenants.csv, lines 102 to 121',
  ]);
  expect(waits).toHaveLength(2);
});

test('a server that stays away ends the import with what was written, and where it goes on', async () => {
  const { made, bodies } = importWith((body, call) => {
    if (call > 1) throw new AdminError('no answer');
    return written(body);
  });
  await expect(made.run(linesOf(120))).rejects.toThrow(
    'stopped before line 52 after 50 written and 0 the same: no answer; the same command goes on from there',
  );
  expect(bodies).toHaveLength(12);
});

test('a server that never answers, or that refuses, ends it at once', async () => {
  const away = importWith(() => {
    throw new AdminError('no answer');
  });
  await expect(away.made.run(linesOf(60))).rejects.toThrow(/^no answer$/);
  expect(away.bodies).toHaveLength(1);
  const full = importWith((body, call) => {
    if (call === 2) throw new AdminError('the store has 1000000 records', { isFinal: true });
    return written(body);
  });
  await expect(full.made.run(linesOf(120))).rejects.toThrow('stopped before line 52 after 50 written');
  expect(full.bodies).toHaveLength(2);
});

test('progress is shown every two seconds, and a hundred refused lines are kept', async () => {
  let nowMs = 0;
  const shown: number[] = [];
  const named: string[] = [];
  const { made } = importWith(
    ({ items }) => ({ ...written({ items }), written: 0, refused: items.map((_, index) => ({ index, problem: 'no' })) }),
    {
      nowMs: () => (nowMs += 10),
      onProgress: ({ line }) => shown.push(line),
      onNamed: (kind, { line }) => named.push(`${kind} ${line}`),
    },
  );
  expect(await made.run(linesOf(1_000))).toMatchObject({ refused: 1_000, written: 0 });
  expect(shown).toHaveLength(5);
  expect(made.refused).toHaveLength(100);
  expect(named).toHaveLength(100);
});

test('tenants that were there before are found among many, with their lines', () => {
  const seen = new SeenTenants();
  const count = 20_000;
  for (let i = 0; i < count; i += 1) expect(seen.add(`t${i}`, i + 2)).toBeUndefined();
  for (let i = 0; i < count; i += 1) expect(seen.add(`t${i}`, 1)).toBe(i + 2);
  expect(seen.size).toBe(count);
});
