/** Chooses the number of serving processes. */

import { availableParallelism } from 'node:os';
import type { Settings } from './table/settings';
import { SettingsError } from './table/settings-error';
import type { StoreChoice } from './redis/store-choice';

export interface ChooseWorkersInput {
  readonly settings: Pick<Settings, 'workers'>;
  readonly storeChoice: StoreChoice;
  /** Default: those of this machine. */
  readonly cores?: number;
}

/** Throws SettingsError if several processes would each count on their own. */
export function chooseWorkers({
  settings: { workers },
  storeChoice: { kind },
  cores = availableParallelism(),
}: ChooseWorkersInput): number {
  if (workers === 'auto') return kind === 'memory' ? 1 : cores;
  if (workers === 1 || kind !== 'memory') return workers;
  const message = `it is ${workers}, but the embedded store counts in each process separately, so each would admit the whole limit; set REDIS_URL to share the counts, or WORKERS=1`;
  throw new SettingsError([{ name: 'WORKERS', message }]);
}
