/** How many processes serve. */

import { availableParallelism } from 'node:os';
import type { Settings } from './settings';
import { SettingsError } from './settings-error';
import type { StoreChoice } from './store-choice';

export interface ChooseWorkersInput {
  readonly settings: Pick<Settings, 'workers'>;
  readonly storeChoice: StoreChoice;
  /** Default: this machine's. */
  readonly cores?: number;
}

/** Throws SettingsError if several processes would each count for themselves. */
export function chooseWorkers({ settings: { workers }, storeChoice: { kind }, cores = availableParallelism() }: ChooseWorkersInput): number {
  if (workers === 'auto') return kind === 'memory' ? 1 : cores;
  if (workers === 1 || kind !== 'memory') return workers;
  const message = `it is ${workers}, but hits are counted in the memory of a process, and each would let a whole limit pass; set REDIS_URL to share the counts, or WORKERS=1`;
  throw new SettingsError([{ name: 'WORKERS', message }]);
}
