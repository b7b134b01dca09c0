/** The context of a process that decides: its choices, and what all its parts report to. */

import { Registry } from 'prom-client';
import type { CheckChoice } from '../../../configuration/settings/check-choice';
import type { DecisionLogChoice } from '../../../configuration/settings/decision-log-choice';
import type { EventChoice } from '../../../configuration/settings/event-choice';
import type { StoreChoice } from '../../../configuration/settings/redis/store-choice';
import type { StatsdChoice } from '../../../configuration/settings/statsd-choice';
import type { Settings } from '../../../configuration/settings/table/settings';
import type { ServerTlsFiles } from '../../../configuration/settings/tls/server-tls-files';
import type { TraceChoice } from '../../../configuration/settings/trace-choice';
import type { RulesInForce } from '../../../configuration/source/rules-in-force';
import { monotonicNowMs } from '../../../lib/clock';
import { EndedCertificates } from '../../../server/observability/ended-certificates';
import { Health } from '../../../server/observability/health';
import { FaultLog } from '../../../server/observability/log/fault-log';
import type { Logger } from '../../../server/observability/log/logger';
import { makeMetrics, type ManagementServer, type Metrics } from '../../../server/observability/metrics/metrics';
import { readMetrics } from '../../../server/observability/metrics/metrics-snapshot';
import { PrometheusText, toLabels } from '../../../server/observability/metrics/prometheus-text';
import type { PublishedMetrics } from '../../../server/transport/http/debug-routes';
import type { MemoryStore } from '../../../state/store/memory/memory-store';
import { makeMemoryStore } from './memory-store';

export interface AppOptions {
  readonly settings: Settings;
  readonly storeChoice: StoreChoice;
  /** The source offers configurations to these rules, before the start and while Weir serves. */
  readonly rules: RulesInForce;
  /** Undefined: the configuration is in files, or the parent process loads it. */
  readonly managementServer?: ManagementServer | undefined;
  readonly log: Logger;
  readonly version: string;
  /** Undefined: no TLS on the gRPC port. */
  readonly grpcTls: ServerTlsFiles | undefined;
  /** The statsd server that gets the metrics, if any. Workers have none: the parent process reports. */
  readonly statsd: StatsdChoice | undefined;
  /** The receiver of traces, if any. */
  readonly tracing: TraceChoice | undefined;
  /** Where decisions are logged. Undefined: nowhere. */
  readonly decisionLog: DecisionLogChoice | undefined;
  /** Where events go. Undefined: no setting asks for them. */
  readonly events: EventChoice | undefined;
  /** How /check makes descriptors of a request. Undefined: /check is not served. */
  readonly check: CheckChoice | undefined;
  /** Whether this process is a worker: the parent process then has the debug port. */
  readonly isWorker: boolean;
  /** The number of serving processes with these settings on this machine. */
  readonly workers: number;
}

export interface Context extends AppOptions {
  readonly health: Health;
  /** Certificates in use that have ended. */
  readonly ended: EndedCertificates;
  /** All metrics of this process. */
  readonly registry: Registry;
  readonly metrics: Metrics;
  /** The metrics of the registry, as they are published. */
  readonly published: PublishedMetrics;
  /** Faults of Weir, each at most once a minute. */
  readonly faults: FaultLog;
  /** The embedded store. With Redis it decides only during an outage, as the failure modes say. */
  readonly memoryStore: MemoryStore;
}

export function openContext(options: AppOptions): Context {
  const { settings, storeChoice, rules, log, version } = options;
  const registry = new Registry();
  const memoryStore = makeMemoryStore(options);
  const health = new Health();
  return {
    ...options,
    health,
    ended: new EndedCertificates({ health, log, nowMs: () => Date.now() }),
    registry,
    metrics: makeMetrics({ registry, version, store: storeChoice.kind, memoryStore, rules }),
    published: publishedBy(registry, toLabels(settings.extraTags)),
    faults: new FaultLog({ log, nowMs: monotonicNowMs }),
    memoryStore,
  };
}

function publishedBy(registry: Registry, labels: Readonly<Record<string, string>>): PublishedMetrics {
  const text = new PrometheusText(labels);
  const read = () => readMetrics(registry);
  return { contentType: text.contentType, text: async () => text.write(await read()), read };
}
