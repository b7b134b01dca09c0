/** What a benchmark asks of Redis about itself: an empty start, and what it counted since. */

import type { TestClient } from '../test/support/redis-store';

/** No keys, and counters at zero. */
export async function startAfresh(admin: TestClient): Promise<void> {
  await admin.sendCommand(['FLUSHALL']);
  await admin.sendCommand(['CONFIG', 'RESETSTAT']);
}

/** Calls since `startAfresh`, by command in lower case. */
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

export async function redisVersion(admin: TestClient): Promise<string> {
  const info = await admin.sendCommand<string>(['INFO', 'server']);
  return /^redis_version:(\S+)/m.exec(info)?.[1] ?? 'unknown';
}
