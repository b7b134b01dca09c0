/** Publishes the facts of this process: to its own admin API, and through Redis to those of other instances. */

import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { monotonicNowMs } from '../../../lib/clock';
import type { ControlFacts, InstanceFacts } from '../../../state/instances/instance-facts';
import { PublishedTexts } from '../../../state/instances/published-texts';
import { RedisInstances } from '../../../state/instances/redis-instances';
import type { RulesInForce } from '../../../configuration/source/rules-in-force';
import type { Health } from '../../../server/observability/health';
import type { Metrics } from '../../../server/observability/metrics/metrics';
import { ProcessLoad } from '../../../server/observability/process-load';
import { HEARTBEAT_MS, HEARTBEAT_TTL_MS } from '../../../state/instances/instances';
import type { OpenedControl } from './open-control';
import type { OpenedStore } from './open-redis-store';

export interface FactsInput {
  readonly opened: Pick<OpenedStore, 'run' | 'name' | 'lastError' | 'engines'>;
  readonly metrics: Pick<Metrics, 'decisionTime'>;
  readonly rules: Pick<RulesInForce, 'ruleSet' | 'error'>;
  readonly health: Health;
  readonly version: string;
  /** `CACHE_KEY_PREFIX`. */
  readonly keyPrefix: string;
  /** Undefined: operators change nothing at run time, and nobody reads the facts. */
  readonly control: Pick<OpenedControl, 'follower'> | undefined;
}

export interface PublishedFacts {
  readonly facts: () => InstanceFacts;
  /** Stops publishing. */
  readonly stop: () => void;
}

/** Publishes the facts of this process in Redis, if there is one, with every heartbeat. */
export function publishFacts(input: FactsInput): PublishedFacts {
  const { opened, rules, health, version, keyPrefix, control, metrics } = input;
  const { run, name = randomUUID(), lastError, engines } = opened;
  const startedAtMs = Date.now();
  const host = hostname();
  const load = new ProcessLoad({
    decisions: () => metrics.decisionTime.count,
    nowMs: monotonicNowMs,
    utilization: () => performance.eventLoopUtilization(),
  });
  const facts = (): InstanceFacts => {
    const storeError = lastError?.();
    return {
      id: name,
      host,
      pid: process.pid,
      version,
      startedAtMs,
      reportedAtMs: Date.now(),
      generation: rules.ruleSet?.generation ?? 0,
      domains: rules.ruleSet?.domains.size ?? 0,
      configRefused: rules.error !== undefined,
      degraded: health.degradations,
      load: load.figures,
      engines: engines?.() ?? [],
      ...(storeError && { storeError }),
      ...(control && { control: controlFacts(control.follower) }),
    };
  };
  const stopLoad = (): void => {
    load.stop();
  };
  if (run === undefined || control === undefined) return { facts, stop: stopLoad };
  const instances = new RedisInstances(new PublishedTexts({ run, keyPrefix }));
  // Health and log report an outage of Redis, and the next heartbeat tries again.
  const publish = () => instances.publish(facts(), { ttlMs: HEARTBEAT_TTL_MS }).catch(() => undefined);
  void publish();
  const timer = setInterval(() => void publish(), HEARTBEAT_MS).unref();
  return {
    facts,
    stop: () => {
      clearInterval(timer);
      stopLoad();
    },
  };
}

function controlFacts({ state: { state, lost }, lagSeconds, version }: OpenedControl['follower']): ControlFacts {
  return { state, lost, version, lagMs: Math.round(lagSeconds * 1_000) };
}
