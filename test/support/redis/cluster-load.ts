/** Callers in a loop while a test changes a Redis Cluster: what was admitted, denied and failed. */

import { slowness } from '../clock/slowness';
import { OK, type AskedDescriptor, type RlsClient } from '../clients/rls-client';

/** Callers that ask at once. */
export const CALLERS = 16;

/** A slowness from which on Redis may answer later than a call waits. */
const BUSY = 3;

export interface Load {
  /** Calls that Redis answered too late on a busy machine; they may be charged. */
  readonly late: number;
  /** Requests that were answered OK, and denied. */
  readonly admitted: number;
  readonly denied: number;
  readonly failures: readonly { readonly atMs: number; readonly message: string }[];
  /** When each was admitted. */
  readonly admittedMs: readonly number[];
}

/** Callers in a loop for as long as `during` runs. */
export async function underLoad(client: RlsClient, descriptors: readonly AskedDescriptor[], during: () => Promise<unknown>): Promise<Load> {
  let running = true;
  let denied = 0;
  const admittedMs: number[] = [];
  const failures: { atMs: number; message: string }[] = [];
  const call = async (): Promise<void> => {
    while (running) {
      try {
        const { overall_code: code } = await client.ask('d', descriptors);
        if (code === OK) admittedMs.push(performance.now());
        else denied += 1;
      } catch (error) {
        failures.push({ atMs: performance.now(), message: (error as Error).message });
        // A refusal comes at once; a client that asks again at once would do nothing else.
        await pause(2);
      }
    }
  };
  const callers = Array.from({ length: CALLERS }, call);
  try {
    await during();
  } finally {
    running = false;
    await Promise.all(callers);
  }
  // On a busy machine Redis answers late, whatever slots do.
  const isLate = slowness() > BUSY ? ({ message }: { readonly message: string }) => message.includes('did not answer within') : () => false;
  const late = failures.filter(isLate).length;
  return { admitted: admittedMs.length, denied, late, failures: failures.filter((failure) => !isLate(failure)), admittedMs };
}

/** Every bucket of the request is charged alike, and for each admitted call. */
export function expectCharged({ admitted, late }: Load, charged: readonly number[]): void {
  expect(new Set(charged).size).toBe(1);
  expect(charged[0]).toBeGreaterThanOrEqual(admitted);
  expect(charged[0]).toBeLessThanOrEqual(admitted + late);
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
