/** Many buckets asked for in few requests: a flood of addresses that change, and buckets that lie idle. */

import type { WireResponse } from '../../../src/server/transport/messages/wire';
import { RlsClient, type AskedDescriptor } from '../../support/clients/rls-client';
import type { WeirProcess } from '../../support/processes/weir-process';
import { sleep } from '../run/fault';
import { DOMAIN, IDLE_LIMIT, isFallback } from '../run/load';

/** Buckets of one request, and requests per second over all processes. */
const AT_ONCE = 20;
const FLOOD_PER_SECOND = 300;
const TICK_MS = 5;

const ATTEMPTS_MAX = 200;
const RETRY_MS = 50;

/** Asks once for each of a number of new buckets, at a pace, and returns how many requests failed. */
export async function floodFreshKeys(weirs: readonly WeirProcess[], { keys }: { readonly keys: number }): Promise<number> {
  const clients = weirs.map(({ grpcPort }) => new RlsClient(grpcPort));
  const startedMs = performance.now();
  const pending: Promise<void>[] = [];
  let failed = 0;
  for (let sent = 0; sent < keys / AT_ONCE;) {
    const due = Math.min(keys / AT_ONCE, ((performance.now() - startedMs) * FLOOD_PER_SECOND) / 1000);
    for (; sent < due; sent += 1) {
      const descriptors = range(sent).map((i): AskedDescriptor => ({ entries: { fresh: `address-${i}` } }));
      const call = clients[sent % clients.length]!.ask(DOMAIN, descriptors);
      const countFailed = (): void => {
        failed += 1;
      };
      pending.push(call.then(() => undefined, countFailed));
    }
    await sleep(TICK_MS);
  }
  await Promise.all(pending);
  for (const client of clients) client.close();
  return failed;
}

/** Takes half of what each of a number of buckets holds, then leaves them alone; they never refill by themselves. */
export async function useIdleBuckets({ grpcPort }: WeirProcess, { keys }: { readonly keys: number }): Promise<void> {
  await askIdle(grpcPort, { keys, hits: IDLE_LIMIT / 2 });
}

/** How many of them are full again. */
export async function countFullIdleBuckets({ grpcPort }: WeirProcess, { keys }: { readonly keys: number }): Promise<number> {
  const responses = await askIdle(grpcPort, { keys, hits: 0 });
  return responses.flatMap(({ statuses }) => statuses).filter(({ limit_remaining: remaining }) => remaining === IDLE_LIMIT).length;
}

async function askIdle(grpcPort: number, { keys, hits }: { readonly keys: number; readonly hits: number }): Promise<WireResponse[]> {
  const client = new RlsClient(grpcPort);
  const responses: WireResponse[] = [];
  for (let group = 0; group < keys / AT_ONCE; group += 1) {
    const descriptors = range(group).map((i): AskedDescriptor => ({ entries: { idle: String(i) }, hits_addend: { value: String(hits) } }));
    responses.push(await askStore(client, descriptors));
  }
  client.close();
  return responses;
}

/** Again, while a busy machine makes the store look slow. */
async function askStore(client: RlsClient, descriptors: readonly AskedDescriptor[]): Promise<WireResponse> {
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
    const response = await client.ask(DOMAIN, descriptors);
    if (!isFallback(response)) return response;
    await sleep(RETRY_MS);
  }
  throw new Error(`the store has decided none of ${ATTEMPTS_MAX} requests`);
}

/** The numbers of one request's buckets. */
function range(group: number): number[] {
  return Array.from({ length: AT_ONCE }, (_, i) => group * AT_ONCE + i);
}
