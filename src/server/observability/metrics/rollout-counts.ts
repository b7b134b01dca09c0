/** Counters of the two parts of each rollout. */

import type { Registry } from 'prom-client';
import { STAGE_PARTS, type Stage, type StageInForce, type StagePart } from '../../../domain/rule/stage';
import { count, CountTable, type CountRow } from './count-table';
import type { MetricRow } from './metrics';
import { registerColumn } from './metrics-snapshot';
import { domainLabel } from './rule-labels';
import { STAT_CHARS_MAX, statisticName } from './statistic-name';

const LABELS = ['domain', 'rule', 'part'];

const HITS = 0;
const OVER = 1;

export const ROLLOUT_METRICS = {
  rolloutHits: {
    type: 'counter',
    name: 'weir_rollout_hits_total',
    labels: LABELS,
    help: 'Hits of a rule with a rollout by part: `candidate`: those of the stage, `current`: the others. `rule` is its path, `plan/` and a plan, or `override/` and a record.',
  },
  rolloutOver: {
    type: 'counter',
    name: 'weir_rollout_over_limit_hits_total',
    labels: LABELS,
    help: 'Hits of a rule with a rollout that did not fit the limit of their part.',
  },
} as const satisfies Readonly<Record<string, MetricRow>>;

/** The label value of rollouts without series of their own. */
const OTHER = 'other';

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
