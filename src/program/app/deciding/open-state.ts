/** Opens what one process remembers: its store and reservations, the control data, the penalties, the top keys, the events, and its facts for other instances. */

import { asksForControl, asksForTop } from '../../../configuration/settings/asked-parts';
import { DecisionTail } from '../../../server/observability/tail/decision-tail';
import type { Penalties } from '../../../state/penalty/penalties';
import { publishFacts, type PublishedFacts } from './publish-facts';
import type { Context } from '../context/context';
import type { OpenedDecisionLog } from './open-decision-log';
import type { OpenedControl } from './open-control';
import { openStore } from './open-store';
import type { OpenedStore } from './open-redis-store';
import type { OpenedRollouts } from './open-rollouts';
import type { OpenedTop } from './open-top';
import type { OpenedEvents } from '../events/open-events';
import { openFair, type OpenedFair } from '../fair/open-fair';

export interface OpenedState {
  readonly opened: OpenedStore;
  /** Undefined: operators change nothing at run time. */
  readonly control: OpenedControl | undefined;
  readonly penalties: Penalties | undefined;
  readonly rollouts: OpenedRollouts | undefined;
  readonly fair: OpenedFair;
  readonly top: OpenedTop | undefined;
  readonly tail: DecisionTail;
  /** Undefined: decisions are not logged. */
  readonly decisionLog: OpenedDecisionLog | undefined;
  /** Undefined: no setting asks for events. */
  readonly events: OpenedEvents | undefined;
  readonly facts: PublishedFacts['facts'];
  /** Begins the work that goes on between decisions. */
  start(): void;
  /** Ends that work and leaves the store. No call may be in flight. */
  close(): Promise<void>;
}

export async function openState(context: Context): Promise<OpenedState> {
  const { settings, registry, log, version, rules, health, metrics } = context;
  const opened = await openStore(context);
  const { store, run, exchange } = opened;
  const events = context.events && (await import('../events/open-events.js')).openEvents(context, { choice: context.events, run });
  // Parts that a setting asks for are imported on demand: their 30 modules take 20 ms of CPU.
  const control = asksForControl(settings)
    ? await (await import('./open-control.js')).openControl({ settings, run, onChange: events?.onChange, health, registry, log })
    : undefined;
  const facts = publishFacts({ opened, rules, health, version, keyPrefix: settings.cacheKeyPrefix, control, metrics });
  const top = asksForTop(settings) ? (await import('./open-top.js')).openTop({ settings, registry, exchange, log }) : undefined;
  const penalties =
    control && (await import('./open-penalties.js')).openPenalties({ settings, store, service: control.service, registry, log });
  const rollouts = control && (await import('./open-rollouts.js')).openRollouts({ settings, run, control, registry, log });
  const fair = openFair({ settings, run, registry, log });
  const decisionLog = context.decisionLog && (await import('./open-decision-log.js')).openDecisionLog(context, context.decisionLog);
  return {
    opened,
    control,
    penalties,
    rollouts,
    fair,
    top,
    tail: new DecisionTail({ nowMs: () => Date.now() }),
    decisionLog,
    events,
    facts: facts.facts,
    start: () => {
      penalties?.start();
      rollouts?.watch.start();
      fair.shares.start();
      top?.start();
      events?.start();
    },
    close: async () => {
      facts.stop();
      top?.stop();
      await Promise.all([penalties?.stop(), rollouts?.watch.stop(), fair.shares.stop()]);
      await control?.close();
      await Promise.all([opened.leave(), events?.stop(), decisionLog?.close()]);
      await store.close();
    },
  };
}
