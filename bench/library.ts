/** `npm run bench -- library [--short]`: what the library adds to what it stands on: the store, and a call of grpc-js. Printed, not judged. */

import { Client as GrpcClient, credentials, Metadata } from '@grpc/grpc-js';
import { loadProto } from '../src/server/transport/messages/proto';
import { createClient } from '../src/program/library/client/create-client';
import { createLimiter } from '../src/program/library/in-process/create-limiter';
import { monotonicNowUs } from '../src/lib/clock';
import { MemoryStore } from '../src/state/store/memory/memory-store';
import { writeConfig } from '../test/support/config/temp-config';
import { startWeir } from '../test/support/processes/weir-process';
import { loadAverage } from './support/environment';
import { spreadOf } from './support/statistics';

const isShort = process.argv.includes('--short');
const ROUNDS = isShort ? 5 : 15;
const DECISIONS = isShort ? 20_000 : 100_000;
const CALLS = isShort ? 2_000 : 10_000;
/** Calls of the client that wait at once. */
const CONCURRENT = 16;
/** No call of a busy machine ends at its deadline. */
const PATIENT_MS = 60_000;

const CONFIG = 'domain: shop\ndescriptors:\n  - key: user\n    rate_limit: { unit: hour, requests_per_unit: 4000000000 }\n';
const REQUEST = { domain: 'shop', descriptors: [{ user: 'zoe' }] };

interface Contender {
  readonly name: string;
  /** Makes so many decisions. */
  readonly run: (count: number) => Promise<void>;
}

/** Processor time of this process for each decision, in microseconds. */
async function costUs(run: Contender['run'], count: number): Promise<number> {
  const before = process.cpuUsage();
  await run(count);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / count;
}

/** In turn, round by round, so that a change of the machine meets all of them. */
async function compare(title: string, contenders: readonly [Contender, Contender], count: number): Promise<void> {
  for (const { run } of contenders) await run(count);
  const rounds: [number, number][] = [];
  const [base, other] = contenders;
  for (let round = 0; round < ROUNDS; round += 1) rounds.push([await costUs(base.run, count), await costUs(other.run, count)]);
  const ratio = spreadOf(rounds.map(([baseUs, otherUs]) => otherUs / baseUs));
  console.log(`${title}, ${ROUNDS} rounds of ${count.toLocaleString('en')}:`);
  for (const [i, { name }] of contenders.entries())
    console.log(`  ${name}: ${spreadOf(rounds.map((round) => round[i]!)).median.toFixed(2)} µs`);
  console.log(`  ratio: ${ratio.median.toFixed(2)} (${ratio.min.toFixed(2)} to ${ratio.max.toFixed(2)})`);
}

async function benchInProcess(): Promise<void> {
  const store = new MemoryStore({ nowUs: monotonicNowUs, bucketsMax: 1_000_000 });
  const limit = { algorithm: 'token_bucket', windowUs: 3_600_000_000, requestsPerUnit: 4_000_000_000, capacity: 4_000_000_000 } as const;
  const take = { bucketKey: '1{shop}tb3600|user=zoe', limit, hits: 1, mode: 'enforced', descriptor: 0 } as const;
  const limiter = await createLimiter({ rules: { text: CONFIG } });
  const bare = async (count: number): Promise<void> => {
    for (let n = 0; n < count; n += 1) await store.take([{ takes: [take], quotaAlwaysFits: false, shadow: false }]);
  };
  const check = async (count: number): Promise<void> => {
    for (let n = 0; n < count; n += 1) await limiter.check(REQUEST);
  };
  await compare(
    'A decision in the process',
    [
      { name: 'the bare store', run: bare },
      { name: 'createLimiter, embedded', run: check },
    ],
    DECISIONS,
  );
  await limiter.close();
}

async function inParallel(count: number, call: () => Promise<unknown>): Promise<void> {
  const worker = async (): Promise<void> => {
    for (let n = 0; n < count / CONCURRENT; n += 1) await call();
  };
  await Promise.all(Array.from({ length: CONCURRENT }, worker));
}

async function benchClient(): Promise<void> {
  const weir = await startWeir({ config: writeConfig(CONFIG), env: { BACKEND_TYPE: 'memory' } });
  const address = `127.0.0.1:${weir.grpcPort}`;
  const client = createClient({ address, connections: 1, timeoutMs: PATIENT_MS });
  await client.ready();
  const raw = new GrpcClient(address, credentials.createInsecure(), { 'grpc.use_local_subchannel_pool': 1 });
  const { path, requestSerialize, responseDeserialize } = loadProto().rateLimit.ShouldRateLimit;
  const wire = { domain: 'shop', descriptors: [{ entries: [{ key: 'user', value: 'zoe' }] }] };
  const metadata = new Metadata();
  const askRaw = (): Promise<unknown> =>
    new Promise((resolve, reject) => {
      const options = { deadline: Date.now() + PATIENT_MS };
      raw.makeUnaryRequest(path, requestSerialize, responseDeserialize, wire, metadata, options, (error, response) => {
        if (error === null) resolve(response);
        else reject(error);
      });
    });
  const check = async (): Promise<void> => {
    const { error } = await client.check(REQUEST);
    if (error !== undefined) throw error;
  };
  await compare(
    `A call, ${CONCURRENT} at once, processor time of the caller`,
    [
      { name: 'grpc-js', run: (count) => inParallel(count, askRaw) },
      { name: '@weir-rls/client', run: (count) => inParallel(count, check) },
    ],
    CALLS,
  );
  raw.close();
  await client.close();
  await weir.stop();
}

async function main(): Promise<void> {
  console.log(`load average ${loadAverage()}`);
  await benchInProcess();
  await benchClient();
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
