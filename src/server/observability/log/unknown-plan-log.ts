/** Logs, at most once a minute, that a tenant has a plan that the configuration does not have: its limits are those of the default plan. */

import { toText } from '../../../domain/descriptor/byte-string';
import type { ByteString } from '../../../domain/descriptor/descriptor';
import { show } from '../../../lib/quote';
import { event } from './log-event';
import type { Logger } from './logger';
import { THROTTLE_MS } from './throttled-log';

export interface UnknownPlanLogOptions {
  readonly log: Pick<Logger, 'warn'>;
  /** A monotonic clock, in milliseconds. */
  readonly nowMs: () => number;
}

export class UnknownPlanLog {
  private lastMs = -Infinity;
  private decisions = 0;

  constructor(private readonly options: UnknownPlanLogOptions) {}

  /** Call for each decision on such a tenant. */
  record(domain: ByteString, plan: ByteString): void {
    this.decisions += 1;
    const nowMs = this.options.nowMs();
    if (nowMs - this.lastMs < THROTTLE_MS) return;
    const names = { domain: toText(domain), plan: toText(plan) };
    const more = this.decisions === 1 ? '' : ` (${this.decisions} decisions on unknown plans since the last message)`;
    this.options.log.warn(
      event('plan_not_found', { ...names, decisions: this.decisions }),
      `control data give a tenant the plan ${show(names.plan)}, which the domain ${show(names.domain)} does not have, so the default plan applies; add it to plans, or correct the tenant${more}`,
    );
    this.lastMs = nowMs;
    this.decisions = 0;
  }
}
