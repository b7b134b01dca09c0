/** `weir replay` reports what it has read on an interrupt, reads standard input, refuses wrong arguments, and its HTML holds no code of a log. */

import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { gzipSync } from 'node:zlib';

const WEIR = path.resolve(__dirname, '..', '..', '..', 'dist', 'main.js');
const CONFIG = 'domain: shop\ndescriptors:\n  - {key: merchant, rate_limit: {unit: hour, requests_per_unit: 1, algorithm: fixed_window}}\n';
const MAP = 'domain: shop\ndescriptors:\n  - [{key: merchant, field: merchant}]\n';
const EVIL = '<script>alert(1)</script>|`x`';

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'weir-replay-command-'));
  writeFileSync(path.join(folder, 'old.yaml'), CONFIG);
  writeFileSync(path.join(folder, 'new.yaml'), CONFIG.replace('requests_per_unit: 1', 'requests_per_unit: 0'));
  writeFileSync(path.join(folder, 'map.yaml'), MAP);
  writeFileSync(path.join(folder, 'a.csv.gz'), gzipSync(`time,merchant\n60,"${EVIL}"\n61,b\n62,b\nx,b\n`));
});

afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

interface Running {
  readonly ended: Promise<Ended>;
  readonly write: (text: string) => void;
  readonly end: () => void;
  readonly interrupt: () => void;
  /** Resolves once standard error has the text. */
  readonly says: (text: string) => Promise<void>;
}

function start(...args: string[]): Running {
  const child = spawn(process.execPath, [WEIR, 'replay', ...args], { cwd: folder, env: { PATH: process.env.PATH ?? '' } });
  const read = { stdout: '', stderr: '' };
  // The command may end before it has read all.
  child.stdin.on('error', () => undefined);
  child.stdout.on('data', (chunk: Buffer) => (read.stdout += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (read.stderr += chunk.toString()));
  return {
    ended: new Promise((done) => {
      child.once('close', (code) => {
        done({ code, ...read });
      });
    }),
    write: (text) => child.stdin.write(text),
    end: () => child.stdin.end(),
    interrupt: () => child.kill('SIGINT'),
    says: (text) =>
      new Promise((done) => {
        child.stderr.on('data', () => {
          if (read.stderr.includes(text)) done();
        });
      }),
  };
}

const BOTH = ['--config', 'old.yaml', '--candidate', 'new.yaml', '--map', 'map.yaml'];

test('the JSON has the fields that programs read', async () => {
  const { code, stdout, stderr } = await start('a.csv.gz', ...BOTH, '--format', 'json').ended;
  expect({ code, stderr }).toEqual({
    code: 0,
    stderr: 'a.csv.gz:5: has a time that is not RFC 3339 with a zone, nor a number since 1970: "x"\n',
  });
  const key = (value: string) => ({ domain: 'shop', rule: 'shop.merchant', entries: [{ key: 'merchant', value }], requests: 1 });
  expect(JSON.parse(stdout)).toMatchObject({
    requests: 3,
    lines_wrong: 1,
    configurations: [
      { name: 'old.yaml', admitted: 2, denied: 1 },
      { name: 'new.yaml', admitted: 0, denied: 3 },
    ],
    newly_denied: { requests: 2, keys: expect.arrayContaining([key('b'), key(EVIL)]) as unknown },
    newly_admitted: { requests: 0, keys: [] },
    rules: [{ domain: 'shop', rule: 'shop.merchant', requests: 3, denied: 1, peak: { p50: 1, p99: 2, max: 2 } }],
  });
});

test.each(['text', 'markdown', 'html'])('%s', async (format) => {
  const { code, stdout } = await start('a.csv.gz', ...BOTH, '--format', format).ended;
  expect(code).toBe(0);
  expect(stdout).toContain('shop.merchant');
  expect(stdout.includes('<script')).toBe(format === 'text');
  if (format === 'html') expect(stdout).toContain('<svg');
  expect(stdout.replaceAll('http-equiv', '')).not.toMatch(/https?:|src=|url\(/);
});

test('an interrupt gives the report so far', async () => {
  const replay = start('-', ...BOTH, '--format', 'json', '--progress', '--reorder', '0s');
  const rows = (from: number) => Array.from({ length: 20_000 }, (_, i) => `${from + i},m\n`).join('');
  replay.write('time,merchant\n');
  const shown = replay.says('requests');
  let from = 0;
  // The progress is shown twice a second.
  const feed = setInterval(() => {
    replay.write(rows((from += 20_000)));
  }, 50);
  await shown;
  replay.interrupt();
  const { code, stdout, stderr } = await replay.ended;
  clearInterval(feed);
  const report = JSON.parse(stdout) as { readonly complete: boolean; readonly requests: number };
  expect({ code, complete: report.complete }).toEqual({ code: 1, complete: false });
  expect(report.requests).toBeGreaterThan(0);
  expect(stderr).toContain('weir replay: interrupted; the report is of the requests before');
});

test.each<[string, string[], RegExp]>([
  ['no log', [...BOTH], /^weir replay: no log is named/],
  ['no configuration', ['a.csv.gz', '--map', 'map.yaml'], /^weir replay: --config is missing/],
  ['no mapping', ['a.csv.gz', '--config', 'old.yaml'], /so --map FILE must say which fields are descriptors/],
  ['a log that is not there', ['gone.log', ...BOTH], /^weir replay: gone\.log cannot be read/],
  ['a configuration that is not there', ['a.csv.gz', '--config', 'gone.yaml', '--map', 'map.yaml'], /gone\.yaml/],
  [
    'a mapping that is a configuration',
    ['a.csv.gz', '--config', 'old.yaml', '--map', 'old.yaml'],
    /old\.yaml:3:5: descriptors\[0\]: must be a list/,
  ],
  ['a share of 200 %', ['a.csv.gz', ...BOTH, '--suggest', '200%'], /^--suggest: "200%" is not accepted/],
])('%s is refused', async (_, args, message) => {
  const { code, stdout, stderr } = await start(...args).ended;
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toMatch(message);
});

test('more wrong lines than are allowed end the replay, with its report', async () => {
  const { code, stdout, stderr } = await start('a.csv.gz', ...BOTH, '--errors-max', '0', '--format', 'json').ended;
  expect(code).toBe(1);
  expect(JSON.parse(stdout)).toMatchObject({ complete: false, lines_wrong: 1 });
  expect(stderr).toContain('more than 0 lines are wrong (--errors-max)');
});
