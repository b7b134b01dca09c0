/** Counters of the plans of tenants, and of the two parts of rollouts. */

import type { Registry } from 'prom-client';
import type { ByteString } from '../../../domain/descriptor/descriptor';
import type { Plan } from '../../../domain/rule/plan';
import { STAGE_PARTS, type Stage, type StageInForce, type StagePart } from '../../../domain/rule/stage/stage';
import { count, CountTable, type CountRow } from './count-table';
import type { MetricRow } from './metrics';
import { registerColumn } from './metrics-snapshot';
import { domainLabel } from './rule-labels';
import { STAT_CHARS_MAX, statisticName } from './statistic-name';

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

/** The label value of plans and rollouts without a series of their own. */
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

const ROLLOUT_LABELS = ['domain', 'rule', 'part'];

const HITS = 0;
const OVER = 1;

export const ROLLOUT_METRICS = {
  rolloutHits: {
    type: 'counter',
    name: 'weir_rollout_hits_total',
    labels: ROLLOUT_LABELS,
    help: 'Hits of a rule with a rollout by part: `candidate`: those of the stage, `current`: the others. `rule` is its path, `plan/` and a plan, or `override/` and a record.',
  },
  rolloutOver: {
    type: 'counter',
    name: 'weir_rollout_over_limit_hits_total',
    labels: ROLLOUT_LABELS,
    help: 'Hits of a rule with a rollout that did not fit the limit of their part.',
  },
} as const satisfies Readonly<Record<string, MetricRow>>;

type PartRows = Readonly<Record<StagePart, CountRow>>;

export class RolloutCounts {
  private readonly table = new CountTable('rollouts', 2);
  private readonly rowsByStage = new WeakMap<Stage, PartRows>();
  /** A rollout that disappears and returns with a reload continues its series. */
  private readonly rowsByLabels = new Map<string, PartRows>();

  /** `seriesMax`: the most rollouts with series of their own. */
  constructor(
    registry: Registry,
    private readonly seriesMax: number,
  ) {
    const { rolloutHits, rolloutOver } = ROLLOUT_METRICS;
    registerColumn(registry, { name: rolloutHits.name, help: rolloutHits.help, read: () => this.table.read(HITS) });
    registerColumn(registry, { name: rolloutOver.name, help: rolloutOver.help, read: () => this.table.read(OVER) });
  }

  record({ stage, part }: StageInForce, { hits, fits }: { readonly hits: number; readonly fits: boolean }): void {
    if (hits <= 0) return;
    let rows = this.rowsByStage.get(stage);
    if (rows === undefined) {
      rows = this.rowsOf(domainLabel(stage.domain), statisticName(stage.name, { dots: false }).slice(0, STAT_CHARS_MAX));
      this.rowsByStage.set(stage, rows);
    }
    count(rows[part], HITS, hits);
    if (!fits) count(rows[part], OVER, hits);
  }

  private rowsOf(domain: string, rule: string): PartRows {
    const key = JSON.stringify([domain, rule]);
    const known = this.rowsByLabels.get(key);
    if (known !== undefined) return known;
    if (this.rowsByLabels.size >= this.seriesMax && domain !== OTHER) return this.rowsOf(OTHER, OTHER);
    const [candidate, current] = STAGE_PARTS.map((part) => this.table.add({ domain, rule, part }));
    if (candidate === undefined || current === undefined) throw new Error('a rollout without two parts');
    const rows = { candidate, current };
    this.rowsByLabels.set(key, rows);
    return rows;
  }
}
