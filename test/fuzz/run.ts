/** `npm run fuzz`: a number of frames from one seed, most in this process and some over sockets; prints what came of it, and fails at the first rule broken. */

import { parseArgs } from 'node:util';
import { readWhole, UsageError } from '../../src/program/cli/usage-error';
import { fuzzInProcess, fuzzOne } from './in-process';
import { fuzzOverSockets } from './over-sockets';

/** One frame in so many goes over a socket, where it costs some fifty times as much. */
const SOCKETS_PART = 50;

/** Memory is compared between these parts of the way: at first caches and compiled code still grow. */
const GROWN_AT = 0.2;

/** What may be left of all that came in between. */
const LEAK_BYTES_MAX = 8 * 1024 * 1024;

const SEED_MAX = 2 ** 31;
const FRAMES_MAX = 1e12;

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { frames: { type: 'string' }, seed: { type: 'string' }, connection: { type: 'string' } } });
  const readSeed = (option: 'seed' | 'connection') =>
    readWhole(`--${option}`, values[option], { min: 0, max: SEED_MAX, otherwise: Math.floor(Math.random() * SEED_MAX) });
  if (values.connection !== undefined) {
    const connection = readSeed('connection');
    await fuzzOne(connection);
    console.log(`the connection of seed ${connection} kept the rules`);
    return;
  }
  const frames = readWhole('--frames', values.frames, { min: 1, max: FRAMES_MAX, otherwise: 1_000_000 });
  const seed = readSeed('seed');
  console.log(`seed ${seed}, ${frames} frames`);
  const begun = performance.now();
  let grownBytes: number | undefined;
  const socketFrames = Math.ceil(frames / SOCKETS_PART);
  const inProcess = await fuzzInProcess({
    seed,
    frames: frames - socketFrames,
    onProgress: (done) => {
      if (grownBytes === undefined && done > frames * GROWN_AT) grownBytes = heapBytes();
    },
  });
  const leftBytes = heapBytes() - (grownBytes ?? 0);
  console.log(
    `in process: ${inProcess.frames} frames on ${inProcess.connections} connections, ${seconds(begun)} s; heap ${megabytes(leftBytes)} MB more than after ${GROWN_AT * 100} %`,
  );
  if (leftBytes > LEAK_BYTES_MAX) throw new Error(`${megabytes(leftBytes)} MB were left behind`);

  const begunSockets = performance.now();
  const overSockets = await fuzzOverSockets({ seed, frames: socketFrames });
  console.log(
    `over sockets: ${overSockets.frames} frames on ${overSockets.connections} connections, ${seconds(begunSockets)} s; ${overSockets.asked} of ${overSockets.asked} calls beside them were answered`,
  );
}

function heapBytes(): number {
  globalThis.gc?.();
  return process.memoryUsage().heapUsed;
}

function seconds(sinceMs: number): string {
  return ((performance.now() - sinceMs) / 1000).toFixed(1);
}

function megabytes(bytes: number): string {
  return (bytes / 1024 / 1024).toFixed(1);
}

main().then(
  () => process.exit(0),
  (error: unknown) => {
    console.error(error instanceof UsageError ? error.message : error);
    process.exit(1);
  },
);
