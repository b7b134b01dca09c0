/** The composition root: makes the parts of one process that serves, and hands them to each other. It binds no port by itself. */

import { setTimeout as sleep } from 'node:timers/promises';
import { event } from '../../server/observability/log/log-event';
import type { MetricReading } from '../../server/observability/metrics/metrics-snapshot';
import { warmUp } from '../../server/warm-up/warm-up';
import type { OpenAdminInput } from './admin/open-admin';
import { processServices } from './admin/process-services';
import { openContext, type AppOptions, type Context } from './context/context';
import { openDecisions } from './deciding/open-decisions';
import { makeGrpcServer } from './ports/open-grpc';
import { openServedPorts, type ServedPorts } from './ports/open-ports';
import { openConfigMetrics } from './ports/publish-metrics';
import { openState, type OpenedState } from './deciding/open-state';

export interface App extends Pick<ServedPorts, 'binds'> {
  /** Answers from now on what the ports accept. Called once, when all of them are bound. */
  open(): void;
  /** Turns the health off, answers everything for `DRAIN_DELAY`, then only calls in flight, and closes everything. */
  drain(): Promise<void>;
  readMetrics(): Promise<readonly MetricReading[]>;
  /** Opens the file of the decision log again, after it was renamed. */
  reopenLog(): void;
  /** For the admin API. */
  readonly admin: Pick<OpenAdminInput, 'services' | 'tail' | 'registry'>;
}

const NO_CONFIG = 'config: none yet';
const NO_DOMAIN = 'config: no domain';
const LAST_GOOD_CONFIG = 'config: last good';

/** Wires the parts. Nothing is answered before the App opens. */
export async function openApp(options: AppOptions): Promise<App> {
  const context = openContext(options);
  const { settings, health, registry, published, isWorker } = context;
  if (!isWorker) openConfigMetrics(context);
  if (settings.warmUp) await warmUpAndLog(context);
  const state = await openState(context);
  const decisions = openDecisions(context, state);
  const ports = await openServedPorts(context, decisions);
  return {
    binds: ports.binds,
    open: () => {
      decisions.sweeper.start();
      state.start();
      followConfig(context);
      ports.open();
    },
    drain: async () => {
      health.startDrain();
      // Clients that watch the health leave; those that have not seen the change yet are still answered.
      await sleep(settings.drainDelayMs);
      await ports.drain();
      decisions.sweeper.stop();
      await state.close();
      await ports.close();
    },
    readMetrics: () => published.read(),
    reopenLog: () => state.decisionLog?.reopen(),
    admin: { services: servicesOf(context, state), tail: state.tail, registry },
  };
}

/** With Redis, the thread of the admin API reads buckets and control data itself. */
function servicesOf(
  { storeChoice, memoryStore, settings, published }: Context,
  { control, opened, facts, top, rollouts, fair, events }: OpenedState,
): OpenAdminInput['services'] {
  const isEmbedded = storeChoice.kind === 'memory';
  return processServices({
    memoryStore: isEmbedded ? memoryStore : undefined,
    control: isEmbedded ? control?.store : undefined,
    rollouts: isEmbedded ? rollouts?.counter : undefined,
    demand: isEmbedded ? fair.board : undefined,
    events: isEmbedded ? events?.outbox : undefined,
    forget: opened.forget,
    keyPrefix: settings.cacheKeyPrefix,
    facts,
    topKeys: top?.keys,
    readMetrics: () => published.read(),
  });
}

/** Turns the health on at the first good configuration and leaves it on. If a domain is required, the health follows the configuration in force. */
function followConfig({ rules, health, settings }: Context): void {
  const needsDomain = settings.healthyWithAtLeastOneConfigLoaded;
  const mayDoWithout = settings.forceStartWithoutInitialConfig && !needsDomain;
  const show = (): void => {
    const hasRules = rules.ruleSet !== undefined;
    const isEmpty = rules.ruleSet?.domains.size === 0;
    if (needsDomain && isEmpty) health.hold();
    else if (hasRules || mayDoWithout) health.serve();
    health.show(NO_CONFIG, { isDegraded: !hasRules });
    health.show(NO_DOMAIN, { isDegraded: needsDomain && isEmpty });
    health.show(LAST_GOOD_CONFIG, { isDegraded: hasRules && rules.error !== undefined });
  };
  show();
  rules.onLoad(show);
}

/** Runs before the ports open, so it delays no call. */
async function warmUpAndLog({ settings, storeChoice, metrics, log }: Context): Promise<void> {
  const { calls, ms } = await warmUp({
    makeServer: (parts) => makeGrpcServer(settings.transport, parts),
    counts: storeChoice.kind,
    metrics,
  });
  log.debug(event('warmed_up', { calls, durationMs: Math.round(ms) }), `warmed up by ${calls} calls in ${ms.toFixed(0)} ms`);
}
