/** Compiles the plans of a domain, and the terms of its tenant descriptors. */

import { toByteString } from '../../domain/descriptor/byte-string';
import type { ByteString } from '../../domain/descriptor/descriptor';
import { didYouMean } from '../../lib/text/did-you-mean';
import { joinPath, show } from '../../lib/quote';
import type { Limit } from '../../domain/rule/limit';
import type { Plan, TenantTerms } from '../../domain/rule/plan';
import type { LimitCompiler } from './compile-limits';
import type { DescriptorSpec } from './read/read-file';
import type { PlanSpec } from './read/read-plans';

/** Names in a message. */
const NAMES_SHOWN_MAX = 20;

export class DomainPlans {
  readonly byName: ReadonlyMap<ByteString, Plan>;
  private tenants = 0;

  /** `onPlan`: called with each plan and its specification. */
  constructor(
    private readonly specs: readonly PlanSpec[],
    { limits: compiler, onPlan }: { readonly limits: LimitCompiler; readonly onPlan: (spec: PlanSpec, plan: Plan) => void },
  ) {
    const plans = new Map<ByteString, Plan>();
    for (const spec of specs) {
      const name = toByteString(spec.name);
      const { limits, unlimited, name: limitName, replaces } = compiler.compile(spec.limits, { name: `plan/${spec.name}` });
      const pool = this.poolOf(spec, compiler);
      const members = this.membersOf(spec);
      const plan: Plan = {
        name,
        limits,
        unlimited,
        limitName,
        replaces,
        ...(pool.length > 0 && { pool }),
        ...(members !== undefined && { members }),
      };
      plans.set(name, plan);
      onPlan(spec, plan);
    }
    this.byName = plans;
  }

  private poolOf({ name, limits, pool, problems }: PlanSpec, compiler: LimitCompiler): readonly Limit[] {
    const names = new Set(limits.map((limit) => limit.name));
    for (const { name: own, offset, path } of pool) {
      const message = `${show(own)} is the name of another limit of the plan; use another one`;
      if (own !== '' && names.has(own)) problems.report({ offset, path: joinPath(path, 'name'), message });
      names.add(own);
    }
    return compiler.compile(pool, { name: `plan/${name}` }).limits.map((limit) => ({ ...limit, role: 'pool' }));
  }

  private membersOf({ members, path, problems }: PlanSpec): ByteString | undefined {
    if (members === undefined) return undefined;
    if (this.specs.some(({ name }) => name === members.value)) return toByteString(members.value);
    problems.report({ offset: members.offset, path: joinPath(path, 'members'), message: this.explainUnknown(members.value) });
    return undefined;
  }

  get hasTenants(): boolean {
    return this.tenants > 0;
  }

  /** The terms of a descriptor at this level; undefined: it has no tenants, or a problem, which is reported. */
  termsOf(spec: DescriptorSpec, level: number): TenantTerms | undefined {
    const { tenant, defaultPlan } = spec.fields;
    const report = (name: string, { offset }: { readonly offset: number }, message: string) => {
      spec.problems.report({ offset, path: joinPath(spec.path, name), message });
    };
    if (tenant?.value !== true) {
      if (defaultPlan !== undefined) {
        const message = 'has no effect without tenant: true; add it, or remove this';
        spec.problems.warn({ offset: defaultPlan.offset, path: joinPath(spec.path, 'default_plan'), message });
      }
      return undefined;
    }
    this.tenants += 1;
    if (spec.value !== '' && !spec.value.includes('*')) {
      report('tenant', tenant, `needs a descriptor for many tenants, and ${show(spec.value)} is a single one; remove its value, or tenant`);
    }
    if (spec.shareThreshold) {
      report('tenant', tenant, 'conflicts with share_threshold, which gives all values one bucket; remove one of them');
    }
    const [own] = spec.limits;
    if (own !== undefined) {
      const name = spec.fields.rateLimits === undefined ? 'rate_limit' : 'rate_limits';
      report('tenant', tenant, `conflicts with ${name}: the plan has the limits; move them into each plan, or remove tenant`);
    }
    if (this.specs.length === 0) {
      report('tenant', tenant, 'needs plans, which the domain does not have; add plans at the root of its first file');
      return undefined;
    }
    if (defaultPlan === undefined) {
      // A null counts as absent; a value of another kind is reported already.
      report('default_plan', spec, 'is missing; name the plan of tenants without one');
      return undefined;
    }
    const plan = this.byName.get(toByteString(defaultPlan.value));
    if (plan === undefined) {
      report('default_plan', defaultPlan, this.explainUnknown(defaultPlan.value));
      return undefined;
    }
    return { level, defaultPlan: plan, plans: this.byName };
  }

  /** Warns of plans that no tenant can have. */
  warnIfUnused(): void {
    const [first] = this.specs;
    if (first === undefined || this.hasTenants) return;
    const message = 'has no effect because no descriptor has tenant: true; add it where the key is the tenant, or remove the plans';
    first.problems.warn({ offset: first.offset, path: 'plans', message });
  }

  private explainUnknown(name: string): string {
    const names = this.specs.map((spec) => spec.name);
    const meant = didYouMean(name, names.slice(0, NAMES_SHOWN_MAX));
    const guess = meant === undefined ? '' : `did you mean ${show(meant)}? `;
    const more = names.length > NAMES_SHOWN_MAX ? ` and ${names.length - NAMES_SHOWN_MAX} more` : '';
    return `unknown plan ${show(name)}; ${guess}use one of ${names
      .slice(0, NAMES_SHOWN_MAX)
      .map((each) => show(each))
      .join(', ')}${more}`;
  }
}
