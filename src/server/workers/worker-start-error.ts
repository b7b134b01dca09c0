/** The error of a worker that does not start. It has a file of its own: every command knows it, and only a parent of workers runs them. */

import { asError } from '../../lib/errors';

/** A worker ended before it served (its own log says why), or could not be started. */
export class WorkerStartError extends Error {
  override readonly name = 'WorkerStartError';

  constructor(
    readonly exitCode: number,
    what = `a worker ended with exit code ${exitCode} before it served; see its own log lines above`,
  ) {
    super(what);
  }

  static ofFork(error: unknown): WorkerStartError {
    return new WorkerStartError(1, `could not start a worker process: ${asError(error).message}`);
  }
}
