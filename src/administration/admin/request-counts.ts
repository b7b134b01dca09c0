/** Counts what the thread of the admin API answers, and reports it to the deciding process, which has the metrics. */

export interface CountedRequest {
  readonly operation: string;
  readonly status: number;
  /** Undefined: it was a stream. */
  readonly seconds?: number;
}

export interface RequestReport {
  readonly requests: readonly CountedRequest[];
  readonly failedTries: number;
  readonly streams: number;
}

/** Interval between two reports, in milliseconds: few, so that a flood of requests costs decisions little. */
const REPORT_MS = 500;

/** Most requests of one report; those of a faster flood are reported with the next ones. */
const REQUESTS_AT_ONCE = 1_000;

/** Further ones are not counted until these are reported. */
const WAITING_MAX = 100_000;

export class RequestCounts {
  private waiting: CountedRequest[] = [];
  private failedTries = 0;
  private streams = 0;
  private isChanged = false;
  private readonly timer: NodeJS.Timeout;

  constructor(private readonly report: (counts: RequestReport) => void) {
    this.timer = setInterval(() => {
      this.flush();
    }, REPORT_MS).unref();
  }

  answered(request: CountedRequest): void {
    if (this.waiting.length < WAITING_MAX) this.waiting.push(request);
    this.isChanged = true;
  }

  failedTry(): void {
    this.failedTries += 1;
    this.isChanged = true;
  }

  showStreams(open: number): void {
    this.streams = open;
    this.isChanged = true;
  }

  close(): void {
    clearInterval(this.timer);
    this.flush();
  }

  private flush(): void {
    if (!this.isChanged) return;
    const { failedTries, streams } = this;
    const requests = this.waiting.splice(0, REQUESTS_AT_ONCE);
    this.failedTries = 0;
    this.isChanged = this.waiting.length > 0;
    this.report({ requests, failedTries, streams });
  }
}
