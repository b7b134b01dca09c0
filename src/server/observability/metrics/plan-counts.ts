/** Counters of the plans of tenants. */

import type { Registry } from 'prom-client';
import type { ByteString } from '../../../domain/descriptor/descriptor';
import type { Plan } from '../../../domain/rule/plan';
import { count, CountTable, type CountRow } from './count-table';
import type { MetricRow } from './metrics';
import { registerColumn } from './metrics-snapshot';
import { domainLabel } from './rule-labels';

export const PLAN_METRICS = {
  planDecisions: {
    type: 'counter',
    name: 'weir_plan_decisions_total',
    labels: ['domain', 'plan', 'result'],
    help: 'Decisions on tenants by plan: `ok`, or `over_limit` if a limit of the plan did not fit.',
  },
  unknownPlans: {
    type: 'counter',
    name: 'weir_unknown_plan_decisions_total',
    labels: ['domain'],
    help: 'Decisions on tenants whose plan the configuration does not have.',
  },
} as const satisfies Readonly<Record<string, MetricRow>>;

/** The label value of plans without a series of their own. */
const OTHER = 'other';

interface PlanRows {
  readonly ok: CountRow;
  readonly overLimit: CountRow;
}

export class PlanCounts {
  private readonly decisions = new CountTable('plans', 1);
  private readonly unknown = new CountTable('unknown_plans', 1);
  private readonly rowsByPlan = new WeakMap<Plan, PlanRows>();
  /** A plan that disappears and returns with a reload continues its series. */
  private readonly rowsByLabels = new Map<string, PlanRows>();
  private readonly unknownByDomain = new Map<string, CountRow>();

  /** `seriesMax`: the most plans with series of their own. */
  constructor(
    registry: Registry,
    private readonly seriesMax: number,
  ) {
    const { planDecisions, unknownPlans } = PLAN_METRICS;
    registerColumn(registry, { name: planDecisions.name, help: planDecisions.help, read: () => this.decisions.read(0) });
    registerColumn(registry, { name: unknownPlans.name, help: unknownPlans.help, read: () => this.unknown.read(0) });
  }

  record(domain: ByteString, plan: Plan, { isOver }: { readonly isOver: boolean }): void {
    let rows = this.rowsByPlan.get(plan);
    if (rows === undefined) {
      rows = this.rowsOf(domainLabel(domain), domainLabel(plan.name));
      this.rowsByPlan.set(plan, rows);
    }
    count(isOver ? rows.overLimit : rows.ok, 0, 1);
  }

  /** Only domains of the configuration have tenants, so their number is bounded. */
  recordUnknown(domain: ByteString): void {
    const label = domainLabel(domain);
    let row = this.unknownByDomain.get(label);
    if (row === undefined) {
      row = this.unknown.add({ domain: label });
      this.unknownByDomain.set(label, row);
    }
    count(row, 0, 1);
  }

  private rowsOf(domain: string, plan: string): PlanRows {
    const key = JSON.stringify([domain, plan]);
    const known = this.rowsByLabels.get(key);
    if (known !== undefined) return known;
    if (this.rowsByLabels.size >= this.seriesMax && domain !== OTHER) return this.rowsOf(OTHER, OTHER);
    const labels = { domain, plan };
    const rows = {
      ok: this.decisions.add({ ...labels, result: 'ok' }),
      overLimit: this.decisions.add({ ...labels, result: 'over_limit' }),
    };
    this.rowsByLabels.set(key, rows);
    return rows;
  }
}
