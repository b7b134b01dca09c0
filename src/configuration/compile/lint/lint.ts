/** Runs every warning rule on a domain, one descriptor at a time. */

import { warnOfAddressRange } from './address-range';
import { warnOfCost } from './cost-never-fits';
import type { DescriptorSpec } from '../read/read-file';
import type { Reserve } from '../../../domain/rule/reserve/reserve';
import type { Plan } from '../../../domain/rule/plan';
import type { PlanSpec } from '../read/read-plans';
import { limitsOf, type Declared, type DeclaredLevel, type DeclaredLimit } from './declared-level';
import { warnOfLongWindow } from './long-window-alone';
import { warnOfExpression } from './regular-expression';
import { warnOfUnboundedMetric } from './unbounded-metric';
import type { ReplacedNames } from './unknown-replaces';
import { mayBeUnreachable, warnOfUnreachable } from './unreachable-descriptor';

export interface LintOptions {
  /** The most hits of a request; default 1. */
  readonly cost?: number;
  /** Called for every level with all of its descriptors. */
  readonly onLevel?: (level: DeclaredLevel) => void;
  /** Called for every plan. */
  readonly onPlan?: (spec: PlanSpec, plan: Plan) => void;
}

export class Lint {
  constructor(
    private readonly domain: string,
    private readonly options: LintOptions & { readonly replacedNames: ReplacedNames },
  ) {}

  /** Whether to check it again when its level is complete. */
  look(declared: Declared, above: readonly DescriptorSpec[]): boolean {
    const { onLevel, replacedNames } = this.options;
    warnOfExpression(declared);
    warnOfAddressRange(declared);
    const { rule } = declared.node;
    this.lookAtLimits(limitsOf(declared.spec, rule?.limits ?? []), rule?.reserve);
    warnOfUnboundedMetric(declared, { above });
    replacedNames.add(this.domain, declared.spec);
    return onLevel !== undefined || mayBeUnreachable(declared.spec);
  }

  lookAtPlan(spec: PlanSpec, plan: Plan): void {
    this.lookAtLimits(limitsOf(spec, plan.limits));
    this.options.onPlan?.(spec, plan);
    this.options.replacedNames.add(this.domain, spec);
  }

  private lookAtLimits(limits: readonly DeclaredLimit[], reserve?: Reserve): void {
    const { cost = 1 } = this.options;
    warnOfCost(limits, { cost, reserve });
    warnOfLongWindow(limits);
  }

  /** Yields after each descriptor. */
  *lookAtLevel(level: DeclaredLevel): Generator<undefined, void> {
    for (const declared of level.declared) {
      warnOfUnreachable(declared, level);
      yield;
    }
    this.options.onLevel?.(level);
  }
}
