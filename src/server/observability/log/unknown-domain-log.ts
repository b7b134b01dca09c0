/** Logs, at most once a minute, that requests name an unknown domain: Envoy gets OK for them, so nothing else shows the mistake. */

import type { ByteString } from '../../../domain/descriptor/descriptor';
import { event } from './log-event';
import type { Logger } from './logger';
import { THROTTLE_MS } from './throttled-log';

/** Bounds a name that the caller chose. */
const NAME_CHARS_MAX = 64;

export interface UnknownDomainLogOptions {
  readonly log: Pick<Logger, 'warn'>;
  /** A monotonic clock, in milliseconds. */
  readonly nowMs: () => number;
}

export class UnknownDomainLog {
  private lastMs = -Infinity;
  private requests = 0;

  constructor(private readonly options: UnknownDomainLogOptions) {}

  /** Call for each request with an unknown domain. */
  record(domain: ByteString): void {
    this.requests += 1;
    const nowMs = this.options.nowMs();
    if (nowMs - this.lastMs < THROTTLE_MS) return;
    const text = Buffer.from(domain.slice(0, NAME_CHARS_MAX), 'latin1').toString();
    const count = this.requests === 1 ? '' : ` (${this.requests} requests for unknown domains since the last message)`;
    this.options.log.warn(
      event('domain_not_found', { domain: text, requests: this.requests }),
      `a request names the domain ${JSON.stringify(text)}, which is not configured, and gets OK without a limit; configure the domain, or correct it in Envoy's rate limit filter${count}`,
    );
    this.lastMs = nowMs;
    this.requests = 0;
  }
}
