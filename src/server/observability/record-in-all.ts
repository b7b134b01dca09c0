/** Gives each decision to all that record it. None of them can change the decision, or keep it from the others. */

import type { DecidedRequest } from '../../domain/respond/decided/decided-request';

export interface RecordInAllOptions {
  readonly recorders: readonly ((decided: DecidedRequest) => void)[];
  /** Called with the error of one of them, which is a bug. */
  readonly onError: (error: unknown) => void;
}

export function recordInAll({ recorders, onError }: RecordInAllOptions): (decided: DecidedRequest) => void {
  return (decided) => {
    for (const record of recorders) {
      try {
        record(decided);
      } catch (error) {
        onError(error);
      }
    }
  };
}
