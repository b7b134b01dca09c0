/** No frame of any client ends the process, on every supported Node. */

import path from 'node:path';
import { asError } from '../../src/lib/errors';
import { REQUEST } from '../fuzz/frame-source';
import { fuzzServer } from '../fuzz/over-sockets';
import { isLong } from '../support/random/form';
import { listNodes } from '../support/versions/node-versions';
import { describePinned } from '../support/versions/pinned-versions';
import { seededInFull } from '../support/random/random';
import { RlsClient } from '../support/clients/rls-client';
import { writeConfig } from '../support/config/temp-config';
import { startWeir, type WeirProcess } from '../support/processes/weir-process';

const MAIN = path.resolve(__dirname, '..', '..', 'dist', 'main.js');
const CONFIG = writeConfig('domain: edge\ndescriptors: [{ key: user, rate_limit: { unit: year, requests_per_unit: 4294967295 } }]\n');

const FUZZ_MS = isLong ? 60_000 : 3_000;

/** Far beyond the time of the fuzzer: on a busy machine its clients and the drain take longer. */
const TIMEOUT_MS = FUZZ_MS + 240_000;

const RUNNING = { name: `node-${process.versions.node}`, binary: process.execPath, script: 'install/node-versions.mjs' };
const NODES = [RUNNING, ...listNodes().filter(({ name }) => name !== RUNNING.name)];

interface Fuzzed {
  readonly weir: WeirProcess;
  /** What went wrong, if anything did. */
  readonly error: Error | undefined;
  readonly exitCode: number | null;
}

async function fuzz(binary: string): Promise<Fuzzed> {
  const weir = await startWeir({ command: [binary, MAIN, 'serve'], config: CONFIG, env: { BACKEND_TYPE: 'memory', TRANSPORT: 'lean' } });
  const client = new RlsClient(weir.grpcPort);
  const endMs = performance.now() + FUZZ_MS;
  let exitCode: number | null = null;
  const stop = async (): Promise<void> => {
    client.close();
    exitCode = await weir.stop();
  };
  const server = { port: weir.grpcPort, ask: () => client.ask(REQUEST.domain!, [{ entries: { user: 'zoe' } }]), stop };
  try {
    await fuzzServer(server, { seed: seededInFull(1).seed, isEnough: () => performance.now() > endMs });
    return { weir, error: undefined, exitCode };
  } catch (error) {
    await stop();
    return { weir, error: asError(error), exitCode };
  }
}

for (const node of NODES) {
  describePinned(node, () => {
    test(
      'no frame ends the process; polite clients and decisions are answered, and SIGTERM ends it with 0',
      async () => {
        const { weir, error, exitCode } = await fuzz(node.binary);
        if (error !== undefined) throw new Error(`${error.message}; Weir wrote: ${weir.output()}`, { cause: error });
        expect(exitCode).toBe(0);
        expect(weir.output()).not.toMatch(/Assertion failed|a gRPC connection failed/);
      },
      TIMEOUT_MS,
    );
  });
}
