/** Opens the reservations of one process: the service for their steps, and the sweeper that lapses them. */

import { domainTag } from '../../../domain/bucket/bucket-key';
import { monotonicNowMs } from '../../../lib/clock';
import type { RulesInForce } from '../../../configuration/source/rules-in-force';
import type { Metrics } from '../../../server/observability/metrics/metrics';
import { ReservationService, type ReservationServiceParts } from '../../../state/reservation/reservation-service';
import type { OnLapsed } from '../../../state/reservation/reservations';
import { Sweeper } from '../../../state/reservation/sweeper';
import { ReservationCalls, type ReservationCallsOptions } from '../../../server/transport/reservation-calls';

export function countLapsed(metrics: Metrics): OnLapsed {
  return ({ granted }) => {
    metrics.reservations.inc({ outcome: 'lapsed' });
    metrics.reservationHits.inc({ outcome: 'lapsed' }, granted);
  };
}

export interface OpenReservationsInput extends Omit<ReservationServiceParts, 'onOutcome' | 'onHeld'> {
  readonly metrics: Metrics;
  readonly rules: RulesInForce;
}

export interface OpenedReservations {
  readonly service: ReservationService;
  readonly sweeper: Sweeper;
}

export function openReservations({ metrics, rules, ...parts }: OpenReservationsInput): OpenedReservations {
  const sweeper = new Sweeper({
    reservations: parts.reservations,
    tags: () =>
      [...(rules.ruleSet?.domains.values() ?? [])]
        .filter(({ hasReservations }) => hasReservations === true)
        .map(({ name }) => domainTag(name)),
    nowMs: monotonicNowMs,
    onHeld: (held) => {
      metrics.reservationsHeld.set(held);
    },
  });
  const service = new ReservationService({
    ...parts,
    onOutcome: (outcome, hits) => {
      metrics.reservations.inc({ outcome });
      if (hits > 0) metrics.reservationHits.inc({ outcome }, hits);
    },
    onHeld: (tag, lapsesAfterMs) => {
      sweeper.touch(tag, { lapsesAfterMs });
    },
  });
  return { service, sweeper };
}

export interface ReservationCallsInput extends Omit<ReservationCallsOptions, 'onDecided'> {
  readonly metrics: Pick<Metrics, 'decisionTime'>;
}

/** Makes the calls that gRPC and HTTP share, with their times in the metrics. */
export function openReservationCalls({ metrics, ...options }: ReservationCallsInput): ReservationCalls {
  const times = metrics.decisionTime.with({ via: 'reservation' });
  return new ReservationCalls({
    ...options,
    onDecided: (seconds) => {
      times.observe(seconds);
    },
  });
}
