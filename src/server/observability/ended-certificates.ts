/** Reports certificates in use that have ended: clients and servers reject them, so calls fail although Weir is well. */

import type { Health } from './health';
import { event } from './log/log-event';
import type { Logger } from './log/logger';

export const CERTIFICATE_ENDED = 'certificate: ended';

export interface EndedCertificatesOptions {
  readonly health: Pick<Health, 'show'>;
  readonly log: Pick<Logger, 'error'>;
  /** Milliseconds since 1970. */
  readonly nowMs: () => number;
}

export class EndedCertificates {
  /** Settings whose certificate has ended. */
  private readonly ended = new Set<string>();

  constructor(private readonly options: EndedCertificatesOptions) {}

  /** Takes when the certificate of a setting ends, in seconds since 1970. */
  show(setting: string, endsAtS: number): void {
    const { health, log, nowMs } = this.options;
    const hasEnded = endsAtS * 1_000 <= nowMs();
    if (hasEnded === this.ended.has(setting)) return;
    if (hasEnded) {
      this.ended.add(setting);
      const end = new Date(endsAtS * 1_000).toISOString();
      log.error(event('certificate_ended', { setting, end }), `the certificate of ${setting} ended at ${end}; renew the file`);
    } else this.ended.delete(setting);
    health.show(CERTIFICATE_ENDED, { isDegraded: this.ended.size > 0 });
  }
}
