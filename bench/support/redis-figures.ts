/** What Redis says about itself to a benchmark: commands counted, processor time, memory, version. */

import type { TestClient } from '../../test/support/redis/redis-store';

/** No keys, and counters at zero. */
export async function startAfresh(admin: TestClient): Promise<void> {
  await admin.sendCommand(['FLUSHALL']);
  await resetCounters(admin);
}

export async function resetCounters(admin: TestClient): Promise<void> {
  await admin.sendCommand(['CONFIG', 'RESETSTAT']);
}

/** Calls since the counters were reset, by command in lower case. */
export async function countCalls(admin: TestClient): Promise<ReadonlyMap<string, number>> {
  const info = await admin.sendCommand<string>(['INFO', 'commandstats']);
  const counts = info.matchAll(/^cmdstat_([^:]+):calls=(\d+)/gm);
  return new Map([...counts].map(([, command, calls]) => [command!, Number(calls)]));
}

/** Processor time that Redis has used since it started, in microseconds. */
export async function processorTimeUs(admin: TestClient): Promise<number> {
  const info = await admin.sendCommand<string>(['INFO', 'cpu']);
  const seconds = [...info.matchAll(/^used_cpu_(?:sys|user):([\d.]+)/gm)].map(([, text]) => Number(text));
  return seconds.reduce((sum, each) => sum + each, 0) * 1e6;
}

export async function usedMemory(admin: TestClient): Promise<number> {
  return Number(await read(admin, { section: 'memory', field: 'used_memory' }));
}

export async function processId(admin: TestClient): Promise<number> {
  return Number(await read(admin, { section: 'server', field: 'process_id' }));
}

/** With the product where it is another: `7.0.15`, `Valkey 9.1.2`. */
export async function redisVersion(admin: TestClient): Promise<string> {
  const valkey = await read(admin, { section: 'server', field: 'valkey_version' });
  return valkey === undefined ? ((await read(admin, { section: 'server', field: 'redis_version' })) ?? 'unknown') : `Valkey ${valkey}`;
}

/** Whether it can write many keys with one expiry in one command. */
export async function hasMsetex(admin: TestClient): Promise<boolean> {
  const [found] = await admin.sendCommand<readonly unknown[]>(['COMMAND', 'INFO', 'MSETEX']);
  return found !== null && found !== undefined;
}

async function read(
  admin: TestClient,
  { section, field }: { readonly section: string; readonly field: string },
): Promise<string | undefined> {
  const info = await admin.sendCommand<string>(['INFO', section]);
  return new RegExp(`^${field}:(\\S+)`, 'm').exec(info)?.[1];
}
