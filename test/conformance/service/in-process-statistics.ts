/** Weir's statistics without a port: what decisions add to them, under the names of statsd and of Prometheus. */

import { Registry } from 'prom-client';
import { atOnce } from '../../../src/lib/slices';
import { makeMetrics } from '../../../src/server/observability/metrics/metrics';
import { readMetrics } from '../../../src/server/observability/metrics/metrics-snapshot';
import { makeRecordDecision } from '../../../src/server/observability/metrics/record-decision';
import { RuleMetrics } from '../../../src/server/observability/metrics/rule-metrics';
import { toStats } from '../../../src/server/observability/statsd/statsd-names';
import type { DecidedRequest } from '../../../src/domain/respond/decided/decided-request';
import { compared, countsOfPage, type ReadStatistics } from './read-statistics';

export interface InProcessStatistics {
  readonly record: (decided: DecidedRequest) => void;
  read(): Promise<ReadStatistics>;
}

export function openStatistics({ globalShadow }: { readonly globalShadow: boolean }): InProcessStatistics {
  const registry = new Registry();
  const metrics = makeMetrics({ registry, version: 'test', store: 'memory' });
  const ruleMetrics = new RuleMetrics({ registry, seriesMax: 100_000, nearLimitRatio: 0.8, sanitizeDots: false });
  return {
    record: makeRecordDecision({ metrics, ruleMetrics, globalShadow }),
    read: async () => {
      const stats = atOnce(toStats(await readMetrics(registry))).flatMap((stat) =>
        stat.kind === 'counter' && stat.value > 0 ? [[stat.name, BigInt(stat.value)] as const] : [],
      );
      return { statsd: compared(new Map(stats)), prometheus: compared(countsOfPage(await registry.metrics())) };
    },
  };
}
