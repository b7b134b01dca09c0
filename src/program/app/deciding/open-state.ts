/** Opens what one process remembers: its store and reservations, the control data, the penalties, the top keys, and its facts for other instances. */

import { DecisionTail } from '../../../server/observability/tail/decision-tail';
import type { Penalties } from '../../../state/penalty/penalties';
import { publishFacts, type PublishedFacts } from './publish-facts';
import type { Context } from '../context/context';
import { openControl, type OpenedControl } from './open-control';
import { openStore } from './open-store';
import { openPenalties } from './open-penalties';
import type { OpenedStore } from './open-redis-store';
import { openTop, type OpenedTop } from './open-top';

export interface OpenedState {
  readonly opened: OpenedStore;
  /** Undefined: operators change nothing at run time. */
  readonly control: OpenedControl | undefined;
  readonly penalties: Penalties | undefined;
  readonly top: OpenedTop | undefined;
  readonly tail: DecisionTail;
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
  const control = await openControl({ settings, run, health, registry, log });
  const facts = publishFacts({ opened, rules, health, version, keyPrefix: settings.cacheKeyPrefix, control, metrics });
  const top = openTop({ settings, registry, exchange, log });
  const penalties = control && openPenalties({ settings, store, service: control.service, registry, log });
  return {
    opened,
    control,
    penalties,
    top,
    tail: new DecisionTail({ nowMs: () => Date.now() }),
    facts: facts.facts,
    start: () => {
      penalties?.start();
      top?.start();
    },
    close: async () => {
      facts.stop();
      top?.stop();
      await penalties?.stop();
      await Promise.all([opened.leave(), control?.close()]);
      await store.close();
    },
  };
}
