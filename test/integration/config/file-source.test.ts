/** Every kind of change of the configuration files is loaded once, as a whole set, and never as a mixture. */

import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { ConfigSource } from '../../../src/configuration/source/files/config-files';
import { FileSource } from '../../../src/configuration/source/files/file-source';
import type { ConfigSet } from '../../../src/configuration/source/rules-in-force';
import { hangLimitMs } from '../../support/clock/hang-limit';
import { ConfigMap, swapSymlink } from '../../support/config/config-map';

const UNTIL_MS = hangLimitMs(20_000);

let home: string;
let source: FileSource | undefined;
let sets: ConfigSet[];
let troubles: string[];

beforeEach(() => {
  home = mkdtempSync(path.join(tmpdir(), 'weir-file-source-'));
  sets = [];
  troubles = [];
});

afterEach(() => {
  source?.close();
  rmSync(home, { recursive: true });
});

function at(name: string): string {
  return path.join(home, name);
}

function write(name: string, text: string): void {
  mkdirSync(path.dirname(at(name)), { recursive: true });
  writeFileSync(at(name), text);
}

interface WatchOptions {
  readonly pollMs?: number;
  readonly unchangedMs?: number;
  readonly slowMs?: number;
}

/** What is there at first is the first set. Without `pollMs` only events tell of what comes after it. */
async function watching(
  place: ConfigSource,
  { pollMs = 60_000, unchangedMs = 50, slowMs = 60_000 }: WatchOptions = {},
): Promise<FileSource> {
  source = new FileSource({
    source: place,
    offer: (set) => {
      sets.push(set);
      return Promise.resolve();
    },
    onTrouble: (sentence) => troubles.push(sentence),
    pollMs,
    unchangedMs,
    slowMs,
  });
  await source.load();
  source.watch();
  return source;
}

function inDirectory(name = ''): ConfigSource {
  return { kind: 'path', path: at(name) };
}

function inRuntime({ swappedRoot }: { readonly swappedRoot?: string } = {}): ConfigSource {
  return { kind: 'runtime', directory: at('root/config'), ...(swappedRoot !== undefined && { swappedRoot: at(swappedRoot) }) };
}

/** The last set: by file, what it says; or what is wrong with it. */
function last(): Readonly<Record<string, string>> | readonly string[] {
  const { documents, problems = [] } = sets.at(-1)!;
  if (problems.length > 0) return problems.map(({ message }) => message);
  return Object.fromEntries(documents.map((document) => [path.relative(home, document.name), 'text' in document ? document.text : '']));
}

async function until(holds: () => boolean): Promise<void> {
  const endMs = performance.now() + UNTIL_MS;
  while (!holds() && performance.now() < endMs) await new Promise((resolve) => setTimeout(resolve, 5));
}

/** Waits until the last set is this one. */
async function untilLast(expected: Readonly<Record<string, string>> | readonly string[]): Promise<void> {
  await until(() => JSON.stringify(last()) === JSON.stringify(expected));
  expect(last()).toEqual(expected);
}

/** Only once the files have been looked at for the first time is a change one of what is watched. */
async function untilWatched(watched: FileSource): Promise<void> {
  watched.reload();
  await until(() => sets.length === 2);
  expect(sets).toHaveLength(2);
}

describe('reported by the file system', () => {
  test('the source sees a file that is rewritten in place or by renaming', async () => {
    write('a.yaml', 'one');
    await untilWatched(await watching({ kind: 'path', path: at('a.yaml') }));
    write('a.yaml', 'two');
    await untilLast({ 'a.yaml': 'two' });
    write('new', 'three');
    renameSync(at('new'), at('a.yaml'));
    await untilLast({ 'a.yaml': 'three' });
    write('a.yaml', 'four!');
    await untilLast({ 'a.yaml': 'four!' });
  });

  test('the source sees a new file of the same size', async () => {
    write('a.yaml', '1');
    await untilWatched(await watching({ kind: 'path', path: at('a.yaml') }));
    for (const text of ['2', '3', '4']) {
      write('a.yaml', text);
      await untilLast({ 'a.yaml': text });
    }
  });

  test('the source sees files that are added, renamed and removed', async () => {
    write('a.yaml', 'a');
    await untilWatched(await watching(inDirectory()));
    write('b.yml', 'b');
    await untilLast({ 'a.yaml': 'a', 'b.yml': 'b' });
    renameSync(at('b.yml'), at('c.yaml'));
    await untilLast({ 'a.yaml': 'a', 'c.yaml': 'b' });
    rmSync(at('a.yaml'));
    await untilLast({ 'c.yaml': 'b' });
    rmSync(at('c.yaml'));
    await untilLast(['holds no .yaml or .yml file; put one there, or name a file']);
  });

  test('the source sees nested directories that are added, changed, removed and added again', async () => {
    write('root/config/a.yaml', 'a');
    await untilWatched(await watching(inRuntime()));
    write('root/config/x/y/b.yaml', 'b');
    await untilLast({ 'root/config/a.yaml': 'a', 'root/config/x/y/b.yaml': 'b' });
    write('root/config/x/y/b.yaml', 'b2');
    await untilLast({ 'root/config/a.yaml': 'a', 'root/config/x/y/b.yaml': 'b2' });
    rmSync(at('root/config/x'), { recursive: true });
    await untilLast({ 'root/config/a.yaml': 'a' });
    write('root/config/x/y/b.yaml', 'b3');
    await untilLast({ 'root/config/a.yaml': 'a', 'root/config/x/y/b.yaml': 'b3' });
    write('root/config/x/y/b.yaml', 'b4');
    await untilLast({ 'root/config/a.yaml': 'a', 'root/config/x/y/b.yaml': 'b4' });
  });

  test('the source sees a directory that is removed and created again', async () => {
    write('root/config/a.yaml', 'a');
    await untilWatched(await watching(inRuntime()));
    rmSync(at('root/config'), { recursive: true });
    await untilLast([
      'does not exist; set RUNTIME_ROOT, RUNTIME_SUBDIRECTORY and RUNTIME_APPDIRECTORY so that they name it, or use --config',
    ]);
    write('root/config/a.yaml', 'a2');
    await untilLast({ 'root/config/a.yaml': 'a2' });
  });

  test('a ConfigMap loads all of its files at once, each once, from RUNTIME_*, a directory or one of its files', async () => {
    const map = new ConfigMap({ 'a.yaml': 'a1', 'b.yaml': 'b1' }, at('root/config'));
    for (const place of [inRuntime(), inDirectory('root/config'), { kind: 'path', path: at('root/config/a.yaml') } as const]) {
      sets = [];
      await untilWatched(await watching(place));
      const isFile = place.kind === 'path' && place.path.endsWith('.yaml');
      for (const version of ['2', '3', '4']) {
        map.swap({ 'a.yaml': `a${version}`, 'b.yaml': `b${version}` });
        await untilLast({ 'root/config/a.yaml': `a${version}`, ...(!isFile && { 'root/config/b.yaml': `b${version}` }) });
      }
      map.swap({ 'a.yaml': 'a1', 'b.yaml': 'b1', 'c.yaml': 'c1' });
      await untilLast({ 'root/config/a.yaml': 'a1', ...(!isFile && { 'root/config/b.yaml': 'b1', 'root/config/c.yaml': 'c1' }) });
      map.swap({ 'a.yaml': 'a1', 'b.yaml': 'b1' });
      await untilLast({ 'root/config/a.yaml': 'a1', ...(!isFile && { 'root/config/b.yaml': 'b1' }) });
      source?.close();
    }
  });

  test('the source follows a swapped symlink to a directory or a file', async () => {
    write('1/a.yaml', 'one');
    write('2/a.yaml', 'two');
    symlinkSync('1', at('current'));
    await untilWatched(await watching(inDirectory('current')));
    swapSymlink({ link: at('current'), target: '2' });
    await untilLast({ 'current/a.yaml': 'two' });
    write('2/a.yaml', 'three');
    await untilLast({ 'current/a.yaml': 'three' });
    source?.close();
    sets = [];
    symlinkSync('1/a.yaml', at('limits.yaml'));
    await untilWatched(await watching({ kind: 'path', path: at('limits.yaml') }));
    swapSymlink({ link: at('limits.yaml'), target: '2/a.yaml' });
    await untilLast({ 'limits.yaml': 'three' });
  });

  test('other files are not part of the set, and their changes load nothing', async () => {
    write('root/config/a.yaml', 'a');
    await untilWatched(await watching(inRuntime()));
    for (const stray of ['notes.txt', '.hidden.yaml', 'a.yaml~', '..data/x.yaml', 'a.yaml.swp'])
      write(`root/config/${stray}`, 'not: [yaml');
    write('root/config/z.yaml', 'z');
    await untilLast({ 'root/config/a.yaml': 'a', 'root/config/z.yaml': 'z' });
    expect(sets).toHaveLength(3);
  });

  test('touched or unchanged files are loaded once', async () => {
    write('a.yaml', 'a');
    await untilWatched(await watching(inDirectory()));
    for (let i = 0; i < 5; i += 1) write('a.yaml', 'a');
    write('b.yaml', 'b');
    await untilLast({ 'a.yaml': 'a', 'b.yaml': 'b' });
    expect(sets).toHaveLength(3);
  });
});

describe('RUNTIME_WATCH_ROOT', () => {
  function release(name: string, text: string): void {
    write(`releases/${name}/config/a.yaml`, text);
  }

  test('a root that is a symlink reloads when it is swapped, not for changes below it', async () => {
    release('1', 'one');
    release('2', 'two');
    symlinkSync('releases/1', at('root'));
    const watched = await watching(inRuntime({ swappedRoot: 'root' }));
    await untilWatched(watched);
    release('1', 'one, edited');
    release('2', 'two, edited');
    swapSymlink({ link: at('root'), target: 'releases/2' });
    await untilLast({ 'root/config/a.yaml': 'two, edited' });
    expect(sets.map(({ documents }) => documents.map((document) => 'text' in document && document.text))).toEqual([
      ['one'],
      ['one'],
      ['two, edited'],
    ]);
    // SIGHUP reads all the same.
    release('2', 'two, edited twice');
    watched.reload();
    await untilLast({ 'root/config/a.yaml': 'two, edited twice' });
    // To the same place, which may be another by now.
    release('2', 'two, edited thrice');
    swapSymlink({ link: at('root'), target: 'releases/2' });
    await untilLast({ 'root/config/a.yaml': 'two, edited thrice' });
  });

  test('a root that is a directory reloads for changes below it', async () => {
    write('root/config/a.yaml', 'one');
    await untilWatched(await watching(inRuntime({ swappedRoot: 'root' })));
    write('root/config/a.yaml', 'two');
    await untilLast({ 'root/config/a.yaml': 'two' });
    write('next/config/a.yaml', 'three');
    renameSync(at('root'), at('old'));
    renameSync(at('next'), at('root'));
    await untilLast({ 'root/config/a.yaml': 'three' });
  });

  test('RUNTIME_WATCH_ROOT=false watches below a symlink too, and finds its swap by polling', async () => {
    release('1', 'one');
    release('2', 'two');
    symlinkSync('releases/1', at('root'));
    await untilWatched(await watching(inRuntime(), { pollMs: 50 }));
    release('1', 'one, edited');
    await untilLast({ 'root/config/a.yaml': 'one, edited' });
    swapSymlink({ link: at('root'), target: 'releases/2' });
    await untilLast({ 'root/config/a.yaml': 'two' });
  });
});

describe('without events', () => {
  test('polling finds changes', async () => {
    write('a.yaml', 'one');
    const watched = await watching(inDirectory(), { pollMs: 20 });
    // As on a mount that tells of nothing.
    Object.assign(watched, { watchAll: () => false });
    write('a.yaml', 'two');
    await untilLast({ 'a.yaml': 'two' });
    write('b.yaml', 'b');
    await untilLast({ 'a.yaml': 'two', 'b.yaml': 'b' });
  });
});

describe('files on their way', () => {
  test('the source waits until a file is completely written', async () => {
    const lines = Array.from({ length: 20 }, (_, i) => `line ${i}\n`);
    write('a.yaml', 'before');
    // On a busy host the writer below may pause for much longer than 50 ms.
    await untilWatched(await watching(inDirectory(), { unchangedMs: 1_000 }));
    truncateSync(at('a.yaml'));
    for (const line of lines) {
      appendFileSync(at('a.yaml'), line);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    await untilLast({ 'a.yaml': lines.join('') });
    expect(sets).toHaveLength(3);
    expect(readFileSync(at('a.yaml'), 'utf8')).toBe(lines.join(''));
  });

  test('files that are swapped during a read never load as a mixture', async () => {
    const version = (text: string) => Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`${i}.yaml`, text]));
    const map = new ConfigMap(version('0'), at('root/config'));
    await untilWatched(await watching(inRuntime(), { unchangedMs: 1 }));
    let last = 0;
    while (last < 40 || sets.length <= 3) {
      const before = sets.length;
      last += 1;
      map.swap(version(String(last)));
      // Long enough to be read now and then, and not more often than that. On a busy machine it was read too seldom: then the next ones are waited for.
      if (last < 40) await new Promise((resolve) => setTimeout(resolve, last * 3));
      else await until(() => sets.length > before);
    }
    await untilLast(
      Object.fromEntries(
        Object.keys(version(''))
          .sort()
          .map((name) => [`root/config/${name}`, String(last)]),
      ),
    );
    const texts = sets.map(({ documents, problems = [] }) => [
      ...new Set(documents.map((document) => ('text' in document ? document.text : ''))),
      ...problems,
    ]);
    expect(texts.filter((each) => each.length !== 1)).toEqual([]);
    expect(texts.length).toBeGreaterThan(3);
  });

  test('files that keep changing are logged, and load once they stay unchanged', async () => {
    write('a.yaml', '0');
    const realNow = performance.now.bind(performance);
    const watched = await watching(inDirectory());
    await untilWatched(watched);
    // Ten seconds go by faster here.
    const now = jest.spyOn(performance, 'now').mockImplementation(() => realNow() * 50);
    const endMs = realNow() + hangLimitMs(5_000);
    for (let i = 0; troubles.length === 0 && realNow() < endMs; i += 1) {
      write('a.yaml', String(i));
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    now.mockRestore();
    expect(troubles).toEqual([expect.stringContaining('keeps changing') as string]);
    write('a.yaml', 'at last');
    await untilLast({ 'a.yaml': 'at last' });
  });

  test('an emptied directory of RUNTIME_* waits for the next file', async () => {
    write('root/config/a.yaml', 'a');
    await untilWatched(await watching(inRuntime()));
    rmSync(at('root/config/a.yaml'));
    await new Promise((resolve) => setTimeout(resolve, 300));
    write('root/config/b.yaml', 'b');
    await untilLast({ 'root/config/b.yaml': 'b' });
    expect(sets).toHaveLength(3);
    rmSync(at('root/config/b.yaml'));
    await untilLast({});
  });
});

test('the source logs what it waits for: a pipe without a writer', async () => {
  execFileSync('mkfifo', [at('pipe')]);
  const watched = watching({ kind: 'path', path: at('pipe') }, { slowMs: 300 });
  try {
    await until(() => troubles.length > 0);
    expect(troubles).toEqual([`still reading the configuration in ${at('pipe')} after 300 ms`]);
  } finally {
    // Reading a pipe does not end before somebody writes into it. Not written synchronously: that waits for a reader, which on a busy
    // machine has not opened the pipe yet, and needs this thread to do so.
    await writeFile(at('pipe'), 'one');
  }
  await watched;
  expect(last()).toEqual({ pipe: 'one' });
  expect(troubles).toHaveLength(1);
});

test('a pipe is read once, since a second read could wait for ever', async () => {
  execFileSync('mkfifo', [at('pipe')]);
  const writing = writeFile(at('pipe'), 'one');
  const watched = await watching({ kind: 'path', path: at('pipe') }, { pollMs: 10 });
  await writing;
  expect(last()).toEqual({ pipe: 'one' });
  watched.reload();
  await until(() => troubles.length > 0);
  expect(troubles).toEqual([expect.stringMatching(/^the configuration is a pipe or a device, which Weir reads only once/) as unknown]);
  expect(sets).toHaveLength(1);
});

test('a closed source hands in nothing', async () => {
  write('a.yaml', 'a');
  const watched = await watching(inDirectory(), { pollMs: 10 });
  await untilWatched(watched);
  watched.close();
  write('a.yaml', 'b');
  watched.reload();
  await new Promise((resolve) => setTimeout(resolve, 200));
  expect(sets).toHaveLength(2);
});
