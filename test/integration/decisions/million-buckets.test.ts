/** A million buckets in the embedded store take at most 150 MB with Node. */

import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { figure } from '../../support/docs/figure';
import { hangLimitMs } from '../../support/clock/hang-limit';

const ROOT = resolve(__dirname, '..', '..', '..');
const BUCKETS = 1_000_000;
const RSS_BYTES_MAX = 150_000_000;
const TIMEOUT_MS = 120_000;

/**
 * Run on what was built, as a loader of TypeScript would take memory too, and by the command of the image, which says how much V8
 * may hold for young objects. Limits of an hour: no bucket is full again while it runs; each is asked for once more, so that
 * none can be missing. Keys are made from bytes, as the transport makes them: node remembers texts that are made from numbers.
 */
const SCRIPT = `
const { readFileSync } = require('node:fs');
const { monotonicNowUs } = require(${JSON.stringify(resolve(ROOT, 'dist', 'lib', 'clock.js'))});
const { MemoryStore } = require(${JSON.stringify(resolve(ROOT, 'dist', 'state', 'store', 'memory', 'memory-store.js'))});
const limit = { algorithm: 'token_bucket', windowUs: 3600e6, requestsPerUnit: 2, capacity: 2 };
const store = new MemoryStore({ nowUs: monotonicNowUs, bucketsMax: ${BUCKETS} });
const key = Buffer.from('1{payments}tb3600|merchant_id=m-00000000');
const ask = async (i) => {
  for (let at = key.length - 1, rest = i; at >= key.length - 8; at -= 1, rest = Math.floor(rest / 10)) key[at] = 48 + (rest % 10);
  const take = { bucketKey: key.latin1Slice(), limit, hits: 2, mode: 'enforced', descriptor: 0 };
  const [outcome] = await store.take([{ takes: [take], quotaAlwaysFits: false, shadow: false }]);
  return outcome;
};
const main = async () => {
  for (let i = 0; i < ${BUCKETS}; i += 1) await ask(i);
  let denied = 0;
  for (let i = 0; i < ${BUCKETS}; i += 1) if ((await ask(i)).overLimit) denied += 1;
  const [, peakKilobytes] = /VmHWM:\\s+(\\d+) kB/.exec(readFileSync('/proc/self/status', 'utf8'));
  console.log(JSON.stringify({ size: store.size, evictions: store.evictions, denied, peakBytes: peakKilobytes * 1024 }));
};
void main();
`;

const home = mkdtempSync(join(tmpdir(), 'weir-million-'));

afterAll(() => {
  rmSync(home, { recursive: true, force: true });
});

test(
  'a million buckets take at most 150 MB at any time, and all stay',
  async () => {
    mkdirSync(join(home, 'dist'));
    writeFileSync(join(home, 'dist', 'main.js'), SCRIPT);
    const { stdout } = await promisify(execFile)(resolve(ROOT, 'deploy', 'bin', 'weir'), {
      env: { ...process.env, WEIR_HOME: home },
      timeout: hangLimitMs(TIMEOUT_MS),
    });
    const { peakBytes, ...kept } = JSON.parse(stdout) as { readonly peakBytes: number };
    figure(`at most ${(peakBytes / 1e6).toFixed(0)} MB`);
    expect(kept).toEqual({ size: BUCKETS, evictions: 0, denied: BUCKETS });
    expect(peakBytes).toBeLessThanOrEqual(RSS_BYTES_MAX);
  },
  TIMEOUT_MS,
);
