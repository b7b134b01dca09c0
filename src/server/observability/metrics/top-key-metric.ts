/** The metric of top keys: a bounded number of series, of the keys that are at the top now. */

import type { Registry } from 'prom-client';
import type { TopKeys, TopQuestion } from '../../../state/top/top-keys';
import type { MetricRow } from './metrics';
import { registerRead, type ReadValue } from './metrics-snapshot';

export const TOP_KEY_METRIC = {
  type: 'gauge',
  name: 'weir_top_key_hits',
  labels: ['domain', 'rule', 'key', 'question'],
  help: 'Hits in the last 10 minutes of the keys that asked for most (`asked`), were denied most (`denied`) or would have been denied most by a candidate (`candidate_denied`), at least: never too high.',
} as const satisfies MetricRow;

const QUESTIONS: readonly TopQuestion[] = ['asked', 'denied', 'candidate_denied'];

export interface TopKeyMetricOptions {
  readonly registry: Registry;
  /** The keys of this process alone, because values of all processes are summed. */
  readonly keys: TopKeys;
  /** `METRIC_TOP_KEYS`: series of each question. */
  readonly count: number;
}

export class TopKeyMetric {
  private values: readonly ReadValue[] = [];

  constructor(private readonly options: TopKeyMetricOptions) {
    const { name, help, type } = TOP_KEY_METRIC;
    registerRead(options.registry, { name, help, type, values: () => this.values });
  }

  /** Looks the keys up; a reading of the metric shows the last ones. */
  async refresh(): Promise<void> {
    const { keys, count } = this.options;
    const answers = await Promise.all(
      QUESTIONS.map(async (question) => ({ question, ...(await keys.top({ question, minutes: 10, count })) })),
    );
    this.values = answers.flatMap(({ question, items }) =>
      items.flatMap(({ domain, rule, entries, count: hits, error }) =>
        hits > error ? [{ labels: { domain, rule, key: entries, question }, value: hits - error }] : [],
      ),
    );
  }
}
