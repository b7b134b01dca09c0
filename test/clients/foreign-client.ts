/** A client in another language: its work goes to its standard input, and what came of each kind of call comes from its standard output. */

import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { proto } from '../support/servers/transport-harness';
import { installed } from '../support/processes/installed';
import { hangLimitMs } from '../support/clock/hang-limit';

const TIMEOUT_MS = 120_000;

/** What a client of this name runs. */
const COMMANDS = {
  'grpc-go': () => ({ command: installed('WEIR_GO_CLIENT', 'install/go/go-client.mjs'), args: [], env: {} }),
  'grpcio (C++)': () => ({
    command: 'python3',
    args: [join(__dirname, 'python', 'client.py')],
    env: { PYTHONPATH: installed('WEIR_GRPCIO', 'install/grpcio.mjs') },
  }),
} as const;

export type ForeignClient = keyof typeof COMMANDS;

export const FOREIGN_CLIENTS = Object.keys(COMMANDS) as ForeignClient[];

/** In the order in which each worker makes them, over and over; they stand in the clients as well. */
export const KINDS = [
  'decide',
  'check',
  'decide',
  'unknown',
  'decide',
  'deadline',
  'decide',
  'cancel',
  'decide',
  'watch',
  'decide',
  'reflection',
  'decide',
  'large',
] as const;

export type Kind = (typeof KINDS)[number];

/** Calls of this domain are not answered in time. */
export const SLOW_DOMAIN = 'slow';

export const LARGE_VALUE_BYTES = 20_000;
export const LARGE_DESCRIPTORS = 5;

export interface Work {
  readonly port: number;
  /** Connections, workers on each, and calls of each worker, one after the other. */
  readonly channels: number;
  readonly workers: number;
  readonly calls: number;
}

export interface Outcome {
  readonly right: number;
  /** How each of the others ended. */
  readonly wrong: readonly string[];
}

function request(domain: string, value: string, descriptors = 1): string {
  const descriptor = { entries: [{ key: 'user', value }] };
  return proto.rateLimit.ShouldRateLimit.requestSerialize({
    domain,
    descriptors: Array(descriptors).fill(descriptor) as (typeof descriptor)[],
  }).toString('hex');
}

export async function runForeignClient(name: ForeignClient, { port, ...work }: Work): Promise<Partial<Record<Kind, Outcome>>> {
  const messages = {
    decide: request('edge', 'zoe'),
    slow: request(SLOW_DOMAIN, 'zoe'),
    large: request('edge', 'x'.repeat(LARGE_VALUE_BYTES), LARGE_DESCRIPTORS),
    empty: '',
    // list_services: "*"
    list: '3a012a',
  };
  const { command, args, env } = COMMANDS[name]();
  const output = await pipe({ command, args, env }, JSON.stringify({ ...work, target: `127.0.0.1:${port}`, messages }));
  return JSON.parse(output) as Partial<Record<Kind, Outcome>>;
}

/** Writes the input of a program; resolves to its output. */
export function pipe(
  { command, args, env }: { command: string; args: readonly string[]; env: Readonly<Record<string, string>> },
  input: string,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env },
      timeout: hangLimitMs(TIMEOUT_MS),
      killSignal: 'SIGKILL',
    });
    const [out, errors]: [string[], string[]] = [[], []];
    child.stdout.on('data', (chunk: Buffer) => out.push(chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => errors.push(chunk.toString()));
    child.once('error', reject);
    child.once('close', (code) => {
      if (code === 0) resolve(out.join(''));
      else reject(new Error(`${command} ended with ${String(code)}: ${errors.join('').slice(-2000)}`));
    });
    child.stdin.end(input);
  });
}
