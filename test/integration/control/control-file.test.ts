/** A crash, a full disk and an unreadable folder damage no control data in the file and lose no later write. */

import { spawnSync } from 'node:child_process';
import { appendFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import promises from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { keyOf } from '../../../src/state/control/control-record';
import { openControlFile } from '../../../src/state/control/file/control-file';
import type { LocalControlStore } from '../../../src/state/control/local-control-store';
import { blockOf, NOTE, recordsIn } from '../../support/control/control-harness';

const START_US = 1_800_000_000_000_000;
const ROOT = path.resolve(__dirname, '..', '..', '..');

let folder: string;
let file: string;
const torn: number[] = [];

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'weir-control-'));
  file = path.join(folder, 'control');
  torn.length = 0;
});

afterEach(() => {
  rmSync(folder, { recursive: true });
});

const open = () => openControlFile({ path: file, nowUs: () => START_US, onTorn: (bytes) => torn.push(bytes), outdatedLinesMax: 100 });
const write = (store: LocalControlStore, id: string) => store.write({ changes: [{ put: blockOf(id) }], audit: NOTE, id: `w-${id}` });

async function closedWith(...ids: readonly string[]): Promise<void> {
  const store = await open();
  for (const id of ids) await write(store, id);
  await store.write({ changes: [{ delete: keyOf(blockOf(ids[0]!)) }], audit: NOTE });
  await store.close();
}

test('records, versions, the audit log, ids and the epoch outlive the process', async () => {
  await closedWith('a', 'b');
  const store = await open();
  expect(await recordsIn(store)).toEqual([{ record: blockOf('b'), version: START_US + 1 }]);
  expect((await store.audit({ order: 'oldest', limit: 10 })).entries).toHaveLength(3);
  expect(await write(store, 'b')).toMatchObject({ isRepeated: true });
  const { epoch } = store;
  await store.close();
  const again = await open();
  expect(again.epoch).toBe(epoch);
  await again.close();
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(torn).toEqual([]);
});

test('a file that ends anywhere in its last line loses that line alone', async () => {
  await closedWith('a', 'b', 'c');
  const bytes = readFileSync(file);
  const lastLine = bytes.lastIndexOf(0x0a, bytes.length - 2) + 1;
  for (let end = lastLine + 1; end < bytes.length; end += 7) {
    writeFileSync(file, bytes.subarray(0, end));
    const store = await open();
    // The deletion was in the last line.
    expect((await recordsIn(store)).map(({ record }) => keyOf(record).name)).toEqual(['a', 'b', 'c']);
    await write(store, 'd');
    await store.close();
    expect(torn.splice(0)).toEqual([end - lastLine]);
    const again = await open();
    expect(await recordsIn(again)).toHaveLength(4);
    await again.close();
    expect(torn).toEqual([]);
  }
});

test('a broken line in the middle is an error that names it', async () => {
  await closedWith('a', 'b');
  const lines = readFileSync(file, 'utf8').split('\n');
  lines[2] = lines[2]!.slice(0, 20);
  writeFileSync(file, lines.join('\n'));
  await expect(open()).rejects.toThrow(`CONTROL_FILE ${file}, line 3: it is not JSON; restore the file from a backup, or remove the line`);
});

test('a file of something else is not touched', async () => {
  writeFileSync(file, 'hello\n');
  await expect(open()).rejects.toThrow('is not a file of control data');
  expect(readFileSync(file, 'utf8')).toBe('hello\n');
});

test('zeros after the last line, as a loss of power leaves them, are dropped', async () => {
  await closedWith('a', 'b');
  appendFileSync(file, Buffer.alloc(100));
  await (await open()).close();
  expect(torn).toEqual([100]);
});

test('outdated lines are left out when the file is written again', async () => {
  const store = await open();
  for (let i = 0; i < 110; i += 1)
    await store.write({ changes: [{ put: blockOf(`x${i % 3}`) }, { put: { ...blockOf('y'), reason: `${i}` } }], audit: NOTE });
  const before = await recordsIn(store);
  const entries = (await store.audit({ order: 'newest', limit: 100 })).entries;
  await store.close();
  expect(readdirSync(folder)).toEqual(['control']);
  const again = await open();
  expect(await recordsIn(again)).toEqual(before);
  expect((await again.audit({ order: 'newest', limit: 100 })).entries).toEqual(entries);
  await again.close();
});

test('in a folder that may be written and not read, writes after a new file go into that file', async () => {
  const hidden = path.join(folder, 'hidden');
  mkdirSync(hidden);
  const file = path.join(hidden, 'control');
  const openHidden = () => openControlFile({ path: file, nowUs: () => Date.now() * 1_000, onTorn: () => undefined, outdatedLinesMax: 5 });
  const store = await openHidden();
  const inode = statSync(file).ino;
  // As a user other than root finds it: the folder cannot be opened.
  const { open: openAsEver } = promises;
  const spied = jest
    .spyOn(promises, 'open')
    .mockImplementation((name, ...rest) =>
      name === hidden ? Promise.reject(new Error('EACCES: permission denied')) : openAsEver(name, ...rest),
    );
  for (let i = 0; i < 40; i += 1) await store.write({ changes: [{ put: { ...blockOf('y'), reason: `${i}` } }], audit: NOTE });
  expect(statSync(file).ino).not.toBe(inode);
  await store.close();
  spied.mockRestore();
  const again = await openHidden();
  expect(await recordsIn(again)).toMatchObject([{ record: { reason: '39' } }]);
  await again.close();
});

/** Writes until it fails, in a process whose files may not grow beyond 8 blocks; then says what happened. */
const FILL = `
  const { openControlFile } = require('./src/state/control/file/control-file.ts');
  (async () => {
    const store = await openControlFile({ path: process.argv[1], nowUs: () => Date.now() * 1000, onTorn() {} });
    const written = [];
    let problem = '';
    for (let i = 0; i < 200 && problem === ''; i += 1) {
      const put = { kind: 'tenant', domain: 'd', tenant: 't' + i, plan: 'p'.repeat(200) };
      await store.write({ changes: [{ put }], audit: { author: 'a', action: 'put' } }).then(
        () => written.push(put.tenant),
        (error) => { problem = error.message; },
      );
    }
    const { records } = await store.scan({ kind: 'tenant', limit: 1000 });
    // A shorter write may still fit.
    const small = await store.write({ changes: [{ delete: { kind: 'tenant', domain: 'd', name: 't0' } }], audit: { author: '', action: 'd' } }).then(() => true, () => false);
    console.log(JSON.stringify({ written, problem, small, inForce: records.map(({ record }) => record.tenant) }));
  })();
`;

test('a full disk refuses the write, changes nothing, and damages nothing that is there', async () => {
  const command = `ulimit -f 8; exec "$0" --require ./scripts/process/load-typescript.cjs -e "$1" "$2"`;
  const { stdout, stderr } = spawnSync('/bin/sh', ['-c', command, process.execPath, FILL, file], { cwd: ROOT, encoding: 'utf8' });
  expect(stderr).toBe('');
  const { written, problem, small, inForce } = JSON.parse(stdout) as {
    written: string[];
    problem: string;
    small: boolean;
    inForce: string[];
  };
  expect(problem).toBe(`CONTROL_FILE ${file} cannot be written (EFBIG), so nothing has changed; free its disk, then repeat the write`);
  expect(written.length).toBeGreaterThan(3);
  expect(inForce.sort()).toEqual(written.toSorted());
  const store = await open();
  expect((await recordsIn(store)).map(({ record }) => keyOf(record).name)).toEqual(
    written.filter((name) => !small || name !== 't0').sort(),
  );
  expect(torn).toEqual([]);
  await store.close();
});

test('trees of tenants outlive the process, also after its file was shortened', async () => {
  const place = (store: LocalControlStore, tenant: string, parent: string) =>
    store.write({ changes: [{ put: { kind: 'tenant', domain: 'd', tenant, parent } }], audit: NOTE });
  const before = await open();
  await place(before, 'ann', 'team');
  await place(before, 'team', 'org');
  for (let i = 0; i < 120; i += 1) await write(before, `b${i % 3}`);
  await before.close();
  const store = await open();
  expect(await place(store, 'org', 'ann')).toMatchObject({ kind: 'tree', problem: 'cycle' });
  const removal = await store.write({ changes: [{ delete: { kind: 'tenant', domain: 'd', name: 'team' } }], audit: NOTE });
  expect(removal).toMatchObject({ kind: 'tree', problem: 'children', count: 1 });
  expect(await place(store, 'key', 'ann')).toMatchObject({ kind: 'written' });
  expect(await place(store, 'token', 'key')).toMatchObject({ kind: 'tree', problem: 'depth' });
  await store.close();
});
