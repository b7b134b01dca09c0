/** Counts what two configurations decide on the same requests. */

import { toDecision } from '../../../../domain/decide/to-decision';
import type { DescriptorStatus } from '../../../../domain/decide/decision';
import type { VirtualVerdict } from '../../../offline/virtual-engine';
import { ChangedKeys } from './changed-keys';
import { RuleFigures, ruleNameOf } from './rule-figures';
import { TimeSeries } from './time-series';

export interface ConfigurationFigures {
  readonly name: string;
  admitted: number;
  denied: number;
  readonly rules: RuleFigures;
}

export class ReplayFigures {
  requests = 0;
  fromUs = Infinity;
  toUs = -Infinity;
  readonly series: TimeSeries;
  /** Denied by the first configuration; only counted without a second one. */
  readonly denied = new ChangedKeys();
  readonly newlyDenied = new ChangedKeys();
  readonly newlyAdmitted = new ChangedKeys();

  /** The configuration in force, then the candidate if there is one. */
  constructor(readonly configurations: readonly ConfigurationFigures[]) {
    this.series = new TimeSeries(configurations.length);
  }

  /** The verdicts of the configurations on one request, in their order. */
  count(verdicts: readonly VirtualVerdict[], timeUs: number): void {
    this.requests += 1;
    if (timeUs < this.fromUs) this.fromUs = timeUs;
    if (timeUs > this.toUs) this.toUs = timeUs;
    const step = this.series.at(timeUs);
    step.requests += 1;
    for (let i = 0; i < verdicts.length; i += 1) {
      const each = verdicts[i];
      const figures = this.configurations[i];
      if (each === undefined || figures === undefined) continue;
      figures.rules.count(each, timeUs);
      if (each.verdict.overLimit) {
        figures.denied += 1;
        step.denied[i] = (step.denied[i] ?? 0) + 1;
      } else figures.admitted += 1;
    }
    const [before, after] = verdicts;
    if (before === undefined) return;
    if (after === undefined) {
      if (before.verdict.overLimit) countKey(this.denied, before, timeUs);
    } else if (before.verdict.overLimit !== after.verdict.overLimit) {
      if (after.verdict.overLimit) step.newlyDenied += 1;
      else step.newlyAdmitted += 1;
      if (after.verdict.overLimit) countKey(this.newlyDenied, after, timeUs);
      else countKey(this.newlyAdmitted, before, timeUs);
    }
  }
}

/** Counts the key of the descriptor that denies the request. */
function countKey(keys: ChangedKeys, { request, matched, verdict }: VirtualVerdict, timeUs: number): void {
  const { statuses } = toDecision(matched, verdict, () => timeUs);
  const binding = bindingOf(statuses);
  const descriptor = request.descriptors[binding];
  const match = matched.matches[binding];
  if (descriptor === undefined || match === undefined) throw new Error('a denied request without a descriptor that denies it');
  keys.count({ domain: request.domain, rule: ruleNameOf(request.domain, match.path), entries: descriptor.entries });
}

/** The descriptor that denies and makes the caller wait longest; the first of several. */
function bindingOf(statuses: readonly DescriptorStatus[]): number {
  let binding = -1;
  let longest = -1;
  for (const [i, { denies, neverFits, durationUntilResetUs = 0 }] of statuses.entries()) {
    const waitUs = neverFits === true ? Infinity : durationUntilResetUs;
    if (!denies || waitUs <= longest) continue;
    binding = i;
    longest = waitUs;
  }
  return binding;
}
