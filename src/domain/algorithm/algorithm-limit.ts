/** The values of a limit that an algorithm needs. */

export interface AlgorithmLimit {
  readonly windowUs: number;
  readonly requestsPerUnit: number;
  readonly capacity: number;
  /**
   * Start and end of each window of the calendar around now, in microseconds, ascending: of a calendar limit only. A
   * store has no calendar; it looks for its own now between them.
   */
  readonly edgesUs?: readonly number[];
}
