/** The gRPC port passes all tests of h2spec on the path of the RPC, in strict mode too. */

import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SHOULD_RATE_LIMIT_PATH } from '../../src/server/transport/http2/connection/request-head';
import { writeConfig } from '../support/config/temp-config';
import { startWeir, type WeirProcess } from '../support/processes/weir-process';
import { installed } from '../support/processes/installed';
import { hangLimitMs } from '../support/clock/hang-limit';

/** Seconds that one of its tests waits for what should come; milliseconds that all may take. */
const PATIENT = ['-o', '5'];
const TIMEOUT_MS = 120_000;

let weir: WeirProcess;

beforeAll(async () => {
  const config = writeConfig('domain: d\ndescriptors: [{ key: k, rate_limit: { unit: hour, requests_per_unit: 3 } }]\n');
  weir = await startWeir({ config, env: { BACKEND_TYPE: 'memory', TRANSPORT: 'lean' } });
});

afterAll(() => weir.stop());

interface Report {
  readonly tests: number;
  readonly skipped: number;
  /** The titles of those that failed. */
  readonly failed: readonly string[];
}

function runH2spec(port: number, options: readonly string[] = []): Promise<Report> {
  const folder = mkdtempSync(join(tmpdir(), 'weir-h2spec-'));
  const file = join(folder, 'report.xml');
  const args = ['-h', '127.0.0.1', '-p', String(port), '-P', SHOULD_RATE_LIMIT_PATH, '-j', file, ...options];
  return new Promise((resolve, reject) => {
    execFile(installed('WEIR_H2SPEC', 'install/go/h2spec.mjs'), args, { timeout: hangLimitMs(TIMEOUT_MS) }, (error, stdout) => {
      try {
        resolve(readReport(readFileSync(file, 'utf8')));
      } catch {
        reject(new Error(`h2spec left no report: ${stdout.slice(-1000)}`, { cause: error }));
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    });
  });
}

function readReport(xml: string): Report {
  const cases = Array.from(
    xml.matchAll(/<testcase package="([^"]*)" classname="([^"]*)"[^>]*>(.*?)<\/testcase>/gs),
    ([, where = '', title = '', body = '']) => ({ title: `${where}: ${title}`, body }),
  );
  return {
    tests: cases.length,
    skipped: cases.filter(({ body }) => body.includes('<skipped')).length,
    failed: cases.filter(({ body }) => /<failure|<error/.test(body)).map(({ title }) => title),
  };
}

test('the server passes all 145 tests, without a skip', async () => {
  expect(await runH2spec(weir.grpcPort, PATIENT)).toEqual({ tests: 145, skipped: 0, failed: [] });
});

test('the server passes the 146 tests of strict mode', async () => {
  expect(await runH2spec(weir.grpcPort, [...PATIENT, '--strict'])).toEqual({ tests: 146, skipped: 0, failed: [] });
});

test(
  'a server that breaks rules fails tests, so the tests above can fail',
  async () => {
    const other = await startWeir({
      config: writeConfig('domain: d\ndescriptors: []\n'),
      env: { BACKEND_TYPE: 'memory', TRANSPORT: 'grpc-js' },
    });
    const { tests, failed } = await runH2spec(other.grpcPort, ['-o', '1']);
    await other.stop();
    expect(tests).toBe(145);
    expect(failed.length).toBeGreaterThan(0);
  },
  TIMEOUT_MS,
);
