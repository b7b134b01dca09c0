/** h2load of nghttp2, a generator that is not ours: it sends one prepared body for ever, and says how many were answered. */

import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { SHOULD_RATE_LIMIT_PATH } from '../../src/server/transport/http2/connection/request-head';
import { encodeBody, type Asked } from './calls';

const run = promisify(execFile);
/** What it may take beyond the time that it was given. */
const SLACK_MS = 20_000;

export interface H2loadInput {
  readonly port: number;
  readonly connections: number;
  readonly streams: number;
  readonly durationMs: number;
  readonly asked: Asked;
  /** The core that it is to run on. */
  readonly core: number | undefined;
}

export interface H2loadCounts {
  readonly done: number;
  readonly succeeded: number;
  readonly perSecond: number;
}

export async function runH2load({ port, connections, streams, durationMs, asked, core }: H2loadInput): Promise<H2loadCounts> {
  const folder = mkdtempSync(path.join(tmpdir(), 'weir-h2load-'));
  try {
    const body = path.join(folder, 'body');
    writeFileSync(body, encodeBody(asked));
    const headers = ['content-type: application/grpc', 'te: trailers', 'grpc-timeout: 5000m'].flatMap((header) => ['-H', header]);
    const args = [
      '-c',
      String(connections),
      '-m',
      String(streams),
      '-D',
      `${durationMs}ms`,
      '-d',
      body,
      ...headers,
      `http://127.0.0.1:${port}${SHOULD_RATE_LIMIT_PATH}`,
    ];
    const h2load = process.env.WEIR_H2LOAD ?? 'h2load';
    const [command, ...pinned] = core === undefined ? [h2load] : ['taskset', '--cpu-list', String(core), h2load];
    const { stdout } = await run(command, [...pinned, ...args], { timeout: durationMs + SLACK_MS });
    return parseH2load(stdout);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** @throws Error if it says something else than expected */
export function parseH2load(output: string): H2loadCounts {
  const [, done, succeeded] = /^requests: .* (\d+) done, (\d+) succeeded,/m.exec(output) ?? [];
  const [, perSecond] = /^finished in .*, ([\d.]+) req\/s/m.exec(output) ?? [];
  if (done === undefined || succeeded === undefined || perSecond === undefined)
    throw new Error(`h2load said something unexpected:\n${output}`);
  return { done: Number(done), succeeded: Number(succeeded), perSecond: Number(perSecond) };
}
