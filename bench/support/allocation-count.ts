/** Counts the objects that a piece of work allocates on V8's heap, by V8's own sampling heap profiler at an interval of one byte. */

import { Session } from 'node:inspector/promises';

export interface AllocationCount<T> {
  readonly result: T;
  /** Objects; several that compiled code allocates in one step count as one. */
  readonly objects: number;
}

/** The types of Node leave out this field of the protocol. */
interface Sampled {
  readonly samples: readonly unknown[];
}

/** Every allocation leaves the fast path and is kept in the profile: time nothing here, and keep the work short. */
export async function countAllocatedObjects<T>(work: () => Promise<T>): Promise<AllocationCount<T>> {
  const session = new Session();
  session.connect();
  try {
    await session.post('HeapProfiler.startSampling', {
      samplingInterval: 1,
      includeObjectsCollectedByMajorGC: true,
      includeObjectsCollectedByMinorGC: true,
    });
    const result = await work();
    const { profile } = (await session.post('HeapProfiler.stopSampling')) as unknown as { readonly profile: Sampled };
    return { result, objects: profile.samples.length };
  } finally {
    session.disconnect();
  }
}
