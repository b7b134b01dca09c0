/** Each line of the decision log is written or counted as lost, whatever happens to its file, and no decision waits for it. */

import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { LineWriter, type LineSink } from '../../../../src/server/observability/decision-log/line-writer';
import { LogFile } from '../../../../src/server/observability/decision-log/log-file';
import { until } from '../../../support/clock/until';

const CLOSE_MS = 5_000;
/** Longer than any test: what is closed while nothing can be written is not waited for. */
const NEVER_MS = 1_000_000;

let folder: string;
let file: string;

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'weir-decision-log-'));
  file = path.join(folder, 'decisions.log');
});

afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

class Followed {
  readonly events: string[] = [];
  readonly writer: LineWriter;
  added = 0;

  constructor(
    readonly sink: LineSink,
    { bytesMax = 1_000_000, retryMs = 5 }: { readonly bytesMax?: number; readonly retryMs?: number } = {},
  ) {
    const onTrouble = (cause: string) => this.events.push(`trouble: ${cause.split(',')[0]}`);
    const onEnd = (lost: number) => this.events.push(`end: ${lost}`);
    this.writer = new LineWriter({ sink, bytesMax, flushMs: 1, retryMs, onTrouble, onEnd });
  }

  /** Lines of about 100 bytes, with their number. */
  add(lines: number): void {
    for (let i = 0; i < lines; i += 1) this.writer.add(`{"line":${(this.added += 1)},"text":"${'x'.repeat(80)}"}`);
  }

  get lost(): number {
    return Object.values(this.writer.counts.lost).reduce((sum, lines) => sum + lines, 0);
  }

  async untilWritten(lines = this.added): Promise<void> {
    await until(() => this.writer.counts.lines + this.lost >= lines);
  }

  async close(): Promise<void> {
    await this.writer.close({ timeoutMs: CLOSE_MS });
    expect(this.writer.counts.lines + this.lost).toBe(this.added);
  }
}

function followedFile({ bytesMax = 0, filesMax = 5, queueBytes = 1_000_000 } = {}) {
  const clock = { nowMs: 0 };
  const logFile = new LogFile({ path: file, bytesMax, filesMax, nowMs: () => clock.nowMs });
  return Object.assign(new Followed(logFile, { bytesMax: queueBytes }), { file: logFile, clock });
}

/** The numbers of the whole lines of a file; any other text fails the test. */
function numbersIn(name: string): number[] {
  return readFileSync(name, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => (JSON.parse(line) as { readonly line: number }).line);
}

function countTo(last: number, first = 1): number[] {
  return Array.from({ length: last - first + 1 }, (_, i) => first + i);
}

test('lines are written in their order, by a file that only its group may read too, and the last at the end', async () => {
  const log = followedFile();
  log.add(2_000);
  await log.untilWritten();
  log.add(1);
  await log.close();
  expect(numbersIn(file)).toEqual(countTo(2_001));
  expect(statSync(file).mode & 0o777 & 0o027).toBe(0);
  expect(log.writer.counts.bytes).toBe(statSync(file).size);
  expect(log.events).toEqual([]);
});

test('while nothing can be written the queue takes lines up to its bound, and reports one trouble until it is over', async () => {
  const log = followedFile({ queueBytes: 2 * 64 * 1024 });
  rmSync(folder, { recursive: true });
  log.add(1);
  await until(() => log.events.length === 1);
  log.add(3_000);
  expect(log.writer.counts.lost.full).toBeGreaterThan(1_000);
  expect(log.writer.counts.lines).toBe(0);
  mkdirSync(folder);
  await until(() => log.events.length > 1);
  const kept = log.added - log.lost;
  expect(log.events).toEqual(['trouble: ENOENT: no such file or directory', `end: ${log.lost}`]);
  log.add(1);
  await log.close();
  expect(numbersIn(file)).toEqual([...countTo(kept), log.added]);
});

test('a disk without room costs lines, no line is torn, and the end does not wait for it', async () => {
  const log = new Followed(new LogFile({ path: '/dev/full', bytesMax: 1, filesMax: 5, nowMs: () => 0 }), { bytesMax: 64 * 1024 });
  log.add(2_000);
  await until(() => log.events.length > 0);
  expect(log.events).toEqual([expect.stringMatching(/^trouble: (ENOSPC|lines come faster)/)]);
  const full = log.writer.counts.lost.full;
  await log.close();
  expect(log.writer.counts).toMatchObject({ lines: 0, bytes: 0, lost: { full, unwritten: 2_000 - full } });
});

test('a pipe without a reader is not waited for; a reader gets whole lines, also one that comes after another', async () => {
  execFileSync('mkfifo', [file]);
  const log = followedFile({ bytesMax: 1 });
  log.add(3_000);
  await until(() => log.events.length === 1);
  expect(log.events[0]).toMatch(/^trouble: ENXIO/);
  const first = readAll();
  await until(() => first.read().length > 100_000);
  // In the middle of a line, as the pipe holds 64 KiB of it.
  first.close();
  await until(() => log.events.some((each) => each.startsWith('trouble: EPIPE')));
  const second = readAll();
  await until(() => second.read().includes('{"line":3000,') && second.read().endsWith('\n'));
  const [start, ...others] = second.read().trim().split('\n');
  const numbers = [start!, ...others].map((line) => (JSON.parse(line) as { readonly line: number }).line);
  expect(numbers).toEqual(countTo(3_000, numbers[0]));
  second.close();
  await log.close();

  function readAll() {
    const reader = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
    let text = '';
    return {
      read: () => {
        const bytes = Buffer.alloc(16_384);
        try {
          text += bytes.toString('latin1', 0, readSync(reader, bytes));
        } catch (error) {
          if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
        }
        return text;
      },
      close: () => {
        closeSync(reader);
      },
    };
  }
});

test('a file that would become too large is rotated, and the oldest is dropped', async () => {
  const log = followedFile({ bytesMax: 150_000, filesMax: 3 });
  for (let i = 0; i < 8; i += 1) {
    log.add(1_000);
    await log.untilWritten();
  }
  await log.close();
  const names = readdirSync(folder).sort();
  expect(names).toEqual(['decisions.log', 'decisions.log.1', 'decisions.log.2']);
  for (const name of names) expect(statSync(path.join(folder, name)).size).toBeLessThanOrEqual(150_000);
  const numbers = ['decisions.log.2', 'decisions.log.1', 'decisions.log'].flatMap((name) => numbersIn(path.join(folder, name)));
  expect(numbers).toEqual(countTo(8_000, numbers[0]));
  expect(log.lost).toBe(0);
});

test('rotation keeps a single file if that is wanted, and the files of before are gone on with', async () => {
  const log = followedFile({ bytesMax: 100_000, filesMax: 1 });
  log.add(2_000);
  await log.untilWritten();
  await log.close();
  expect(readdirSync(folder)).toEqual(['decisions.log']);
  const size = statSync(file).size;
  const next = followedFile({ bytesMax: 100_000, filesMax: 2 });
  next.add(1_000);
  await next.close();
  expect(statSync(`${file}.1`).size).toBeGreaterThanOrEqual(size);
});

test('a rotation that fails loses nothing, and is tried again', async () => {
  const log = followedFile({ bytesMax: 70_000, filesMax: 2 });
  mkdirSync(`${file}.1`);
  log.add(1_000);
  await until(() => log.events.length === 1);
  expect(log.events[0]).toMatch(/^trouble: EISDIR/);
  rmSync(`${file}.1`, { recursive: true });
  await until(() => log.events.length === 2);
  await log.close();
  expect(log.lost).toBe(0);
  expect([...numbersIn(`${file}.1`), ...numbersIn(file)]).toEqual(countTo(1_000));
});

test('a file that another program renamed is left at a signal, or within a second, and none of its lines is lost', async () => {
  const log = followedFile();
  log.add(10);
  await log.untilWritten();
  renameSync(file, `${file}.a`);
  log.add(10);
  await log.untilWritten();
  log.file.reopen();
  log.writer.prepare();
  await until(() => existsSync(file));
  log.add(10);
  await log.untilWritten();
  renameSync(file, `${file}.b`);
  log.clock.nowMs += 1_000;
  log.add(10);
  await log.untilWritten();
  // Another program may make the next file itself.
  renameSync(file, `${file}.c`);
  appendFileSync(file, '');
  log.clock.nowMs += 1_000;
  log.add(10);
  await log.close();
  const files = ['.a', '.b', '.c', ''].map((end) => numbersIn(`${file}${end}`));
  expect(files).toEqual([countTo(20), countTo(30, 21), countTo(40, 31), countTo(50, 41)]);
});

test('a line that a killed process left incomplete does not spoil the next one', async () => {
  appendFileSync(file, '{"line":1}\n{"line":2,"te');
  const log = followedFile();
  log.add(1);
  await log.close();
  expect(readFileSync(file, 'utf8')).toMatch(/^\{"line":1\}\n\{"line":2,"te\n\{"line":1,"text":"x+"\}\n$/);
});

test('a line longer than a chunk is lost, and those beside it are not', async () => {
  const log = followedFile();
  log.add(1);
  log.writer.add('x'.repeat(64 * 1024));
  log.added += 1;
  log.add(1);
  await log.close();
  expect(log.writer.counts).toMatchObject({ lines: 2, lost: { too_long: 1, full: 0, unwritten: 0 } });
  expect(numbersIn(file)).toEqual([1, 3]);
});

test('a sink that never answers keeps neither a decision nor the end, and what it has not written counts as lost', async () => {
  const silent: LineSink = {
    chunkBytes: 4_096,
    prepare: () => Promise.resolve(false),
    write: () => new Promise(() => undefined),
    close: () => new Promise(() => undefined),
  };
  const log = new Followed(silent, { bytesMax: 8_192, retryMs: NEVER_MS });
  log.add(1_000);
  await nextTurn();
  await log.writer.close({ timeoutMs: 10 });
  expect(log.writer.counts.lines).toBe(0);
  expect(log.lost).toBe(1_000);
});
