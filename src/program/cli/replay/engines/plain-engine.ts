/** Decides requests of any form, as the embedded store would. */

import type { RuleSet } from '../../../../domain/rule/rule-set';
import { ruleName } from '../../../../domain/rule/tree';
import { VirtualEngine, type VirtualEngineOptions, type VirtualVerdict } from '../../../offline/virtual-engine';
import type { ChangedKeyInput } from '../figures/changed-keys';
import { KeyPeaks } from '../figures/key-peaks';
import type { RuleFigures } from '../figures/rule-figures';
import type { LogEvent } from '../event/log-event';
import { bindingOf } from './binding';
import type { ReplayEngine } from './replay-engine';

export class PlainEngine implements ReplayEngine {
  private readonly engine: VirtualEngine;
  private readonly keyPeaks = new KeyPeaks();
  private last: VirtualVerdict | undefined;

  constructor(
    options: VirtualEngineOptions & { readonly ruleSet: RuleSet },
    readonly rules: RuleFigures,
  ) {
    this.engine = new VirtualEngine(options);
  }

  get evictions(): number {
    return this.engine.evictions;
  }

  get sampled(): number {
    return this.keyPeaks.sampled;
  }

  decide({ request, timeUs }: LogEvent): boolean {
    if (request === undefined) throw new Error('an engine for whole requests that got only keys');
    this.last = this.engine.decide(request, timeUs);
    return this.last.verdict.overLimit;
  }

  count(timeUs: number): void {
    if (this.last !== undefined) this.rules.count(this.last, timeUs, this.keyPeaks);
  }

  denial(): ChangedKeyInput {
    const { request, matched, verdict } = this.last ?? {};
    if (request === undefined || matched === undefined || verdict === undefined) throw new Error('no request was decided');
    const binding = bindingOf(matched, verdict);
    const path = matched.matches[binding]?.path ?? [];
    return { domain: request.domain, rule: ruleName(request.domain, path), entries: request.descriptors[binding]?.entries ?? [] };
  }

  peaks(): readonly Float64Array[] {
    return this.keyPeaks.peaksOf(this.rules.ownerCount);
  }
}
