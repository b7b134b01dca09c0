/** Opens the events of one process: what it sees becomes marks, and what is in the outboxes is delivered. Imported only with EVENTS_URL. */

import { createHash, createHmac, randomUUID } from 'node:crypto';
import type { Counter } from 'prom-client';
import type { EventChoice } from '../../../configuration/settings/event-choice';
import { toByteString, toText } from '../../../domain/descriptor/byte-string';
import type { DecidedRequest } from '../../../domain/respond/decided/decided-request';
import { monotonicNowMs, monotonicNowUs } from '../../../lib/clock';
import { asError } from '../../../lib/errors';
import { US_PER_MS } from '../../../lib/time-units';
import { HashedValues } from '../../../server/observability/decision-log/hashed-values';
import { secretBytes } from '../../../server/observability/events/signature';
import { WebhookSender } from '../../../server/observability/events/webhook-sender';
import { event } from '../../../server/observability/log/log-event';
import type { Logger } from '../../../server/observability/log/logger';
import { ThrottledLog } from '../../../server/observability/log/throttled-log';
import { makeEventMetrics } from '../../../server/observability/metrics/metrics';
import type { LoggedChange } from '../../../state/control/control-store';
import { controlMark } from '../../../state/events/control-events';
import { Degradations } from '../../../state/events/degradations';
import { Deliverer, type DelivererParts } from '../../../state/events/deliverer';
import type { EventPrivacy } from '../../../state/events/event-text';
import { MarkQueue } from '../../../state/events/mark-queue';
import { MemoryOutbox } from '../../../state/events/memory-outbox';
import type { MarkOutcome, Outbox, OutboxFacts } from '../../../state/events/outbox';
import { RedisOutbox } from '../../../state/events/redis-outbox';
import { ThresholdWatch } from '../../../state/events/threshold-watch';
import { StoreError } from '../../../state/store/port/store-error';
import type { RunScript } from '../../../state/store/redis/redis-store';
import type { Context } from '../context/context';

/** Events of this process about itself that wait. */
const OWN_EVENTS_MAX = 100;

/** Interval between two looks at the health, in milliseconds. */
const LOOK_MS = 1_000;

/** How long a process that ends waits for its last deliveries, in milliseconds. */
const LAST_MS = 1_500;

const DIGEST_CHARS = 22;

export interface OpenEventsInput {
  readonly choice: EventChoice;
  /** Undefined: the outbox is in memory. */
  readonly run: RunScript | undefined;
}

export interface OpenedEvents {
  record(decided: DecidedRequest): void;
  readonly onChange: (change: LoggedChange) => void;
  /** For the admin API. */
  readonly outbox: Pick<Outbox, 'read'>;
  start(): void;
  stop(): Promise<void>;
}

type OpenContext = Pick<Context, 'settings' | 'registry' | 'log' | 'health' | 'version'>;

export function openEvents(context: OpenContext, { choice, run }: OpenEventsInput): OpenedEvents {
  const { settings, health } = context;
  const nowMs = () => Date.now();
  // The embedded store decides on this clock, and its marks end on it.
  const storeMs = () => monotonicNowUs() / US_PER_MS;
  const { eventsOutboxMax: eventsMax, cacheKeyPrefix: keyPrefix } = settings;
  const outbox = run === undefined ? new MemoryOutbox({ nowMs: storeMs, eventsMax }) : new RedisOutbox({ run, keyPrefix, eventsMax });
  // While Redis is away, this process says so by itself.
  const own = new MemoryOutbox({ nowMs: storeMs, eventsMax: OWN_EVENTS_MAX });
  const report = new Report(context);
  const sender = new WebhookSender({
    url: choice.url,
    secrets: choice.secrets.map(secretBytes),
    timeoutMs: settings.eventsTimeoutMs,
    allowsPrivate: settings.eventsAllowPrivateAddresses,
    version: context.version,
    nowMs,
  });
  const queue = new MarkQueue({ outbox, ...report.of('shared') });
  const ownQueue = new MarkQueue({ outbox: own, ...report.of('own') });
  const deliver = (from: Outbox, name: OutboxName) =>
    new Deliverer({ outbox: from, ...deliveryOf(settings), send: (outgoing) => sender.send(outgoing), ...report.of(name) });
  const deliverers = [deliver(outbox, 'shared'), deliver(own, 'own')];
  const privacy = privacyOf(choice);
  const watch = new ThresholdWatch({ queue, privacy });
  const degradations = new Degradations({
    instance: randomUUID(),
    add: (mark) => ownQueue.add(mark),
    lines: () => health.degradations,
    nowMs: monotonicNowMs,
    wallMs: nowMs,
  });
  let looking: NodeJS.Timeout | undefined;
  return {
    record: (decided) => {
      watch.record(decided);
    },
    onChange: (change) => {
      const mark = controlMark(change, { privacy, nowMs: storeMs() });
      if (mark !== undefined) queue.add(mark);
    },
    outbox,
    start: () => {
      for (const part of [queue, ownQueue, ...deliverers]) part.start();
      looking = setInterval(() => {
        degradations.look();
      }, LOOK_MS).unref();
    },
    stop: async () => {
      clearInterval(looking);
      await Promise.all([queue.stop(), ownQueue.stop()]);
      await Promise.all(deliverers.map((each) => each.stop({ waitMs: LAST_MS })));
      sender.close();
    },
  };
}

function deliveryOf({ eventsTimeoutMs, eventsRetryForMs, eventsSource }: OpenContext['settings']) {
  return { timeoutMs: eventsTimeoutMs, retryForMs: eventsRetryForMs, source: eventsSource, random: Math.random };
}

type OutboxName = 'shared' | 'own';

type Reported = Pick<DelivererParts, 'onDelivery' | 'onFacts' | 'onGone' | 'onError'> & {
  readonly onOutcome: (outcome: MarkOutcome | 'queued' | 'queue_full') => void;
};

/** The fields of a log line about a failure. */
type Failed = Readonly<Record<'error', string>>;

/** The metrics and log lines of all queues and outboxes of this process. */
class Report {
  private readonly facts: Record<OutboxName, Pick<OutboxFacts, 'events' | 'oldestMs'>> = {
    shared: { events: 0, oldestMs: 0 },
    own: { events: 0, oldestMs: 0 },
  };
  private readonly counts: Counter<'outcome'>;
  private readonly log: Logger;
  private readonly troubles: ThrottledLog<Failed>;
  private readonly givenUp: ThrottledLog<Failed>;
  private readonly failures: ThrottledLog<Failed>;

  constructor({ registry, log }: OpenContext) {
    this.log = log;
    this.counts = makeEventMetrics(registry, () => ({
      events: this.facts.shared.events + this.facts.own.events,
      oldestMs: Math.max(this.facts.shared.oldestMs, this.facts.own.oldestMs),
    }));
    this.troubles = throttled((sentence, fields) => {
      log.warn(event('events_outbox_failed', fields), sentence);
    });
    this.givenUp = throttled((sentence, fields) => {
      log.warn(event('events_given_up', fields), sentence);
    });
    this.failures = throttled((sentence, fields) => {
      log.warn(event('events_failed', fields), sentence);
    });
  }

  of(name: OutboxName): Reported {
    return {
      onOutcome: (outcome) => {
        this.counts.inc({ outcome: outcome === 'full' ? 'outbox_full' : outcome });
      },
      onFacts: (facts) => {
        this.show(name, facts);
      },
      onGone: (events) => {
        this.counts.inc({ outcome: 'lost' }, events);
      },
      onDelivery: (delivery, error = '') => {
        this.counts.inc({ outcome: delivery });
        if (delivery === 'failed')
          this.failures.log('receiver', () => `an event could not be delivered, and is tried again: ${error}`, { error });
        if (delivery === 'undelivered') this.givenUp.log('receiver', () => `an event was given up: ${error}`, { error });
      },
      onError: (error) => {
        // While Redis is away the log says so already.
        if (error instanceof StoreError && error.reason !== 'script') return;
        const { message } = asError(error);
        this.troubles.log('outbox', () => `the outbox of events failed: ${message}`, { error: message });
      },
    };
  }

  /** The one call that finds no outbox counts what this process last knew of it. */
  private show(name: OutboxName, { isNew, events, oldestMs }: OutboxFacts): void {
    const { events: lost } = this.facts[name];
    if (isNew && lost > 0) {
      this.counts.inc({ outcome: 'lost' }, lost);
      this.log.error(event('events_lost', { events: lost }), `Redis lost the outbox of events, and about ${lost} events with it`);
    }
    this.facts[name] = { events, oldestMs };
  }
}

function throttled(write: (sentence: string, fields: Failed) => void): ThrottledLog<Failed> {
  return new ThrottledLog<Failed>({ write, nowMs: monotonicNowMs });
}

function privacyOf({ hashing }: EventChoice): EventPrivacy {
  const hashed = hashing && new HashedValues({ secret: hashing.secret, keys: hashing.keys.map(toByteString) });
  return {
    hashes: hashed !== undefined,
    value: (key, value) => (hashed?.hashes(key) === true ? hashed.of(value) : toText(value)),
    level: (level, entry) => hashed?.level(level, entry) ?? level,
    digest: (text) => {
      const digest = hashing === undefined ? createHash('sha256') : createHmac('sha256', hashing.secret);
      return digest.update(text, 'latin1').digest('base64url').slice(0, DIGEST_CHARS);
    },
  };
}
