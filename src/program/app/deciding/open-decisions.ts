/** Opens the decisions of one process: the path of a request over its rules and its state, and the reservations. */

import type { RuleSet } from '../../../domain/rule/rule-set';
import { additionsFor } from '../../../domain/respond/response-additions';
import { monotonicNowUs } from '../../../lib/clock';
import { makeAnswerCalls, type AnswerCalls, type FailureKind } from '../../../server/transport/answer';
import type { Metrics } from '../../../server/observability/metrics/metrics';
import type { ReservationCalls } from '../../../server/transport/reservation-calls';
import { makeShouldRateLimit } from '../../../should-rate-limit';
import type { Sweeper } from '../../../state/reservation/sweeper';
import type { Context } from '../context/context';
import { openRecord, openRuleMetrics } from './open-record';
import { chooseAdditions } from '../../../configuration/settings/choose-additions';
import { openReservationCalls, openReservations } from './open-reservations';
import type { OpenedState } from './open-state';

export interface OpenedDecisions {
  readonly answerCalls: AnswerCalls;
  readonly reservationCalls: ReservationCalls;
  /** Lapses reservations. */
  readonly sweeper: Sweeper;
  /** Counts a call that a transport answers with a failure. */
  readonly onFailure: (kind: FailureKind) => void;
}

export function openDecisions(
  context: Context,
  { opened, control, penalties, rollouts, fair, top, tail, decisionLog, events }: OpenedState,
): OpenedDecisions {
  const { settings, registry, log, rules, metrics, faults } = context;
  const ruleMetrics = openRuleMetrics(registry, settings);
  const deciding = {
    ruleSet: () => rules.ruleSetNow,
    store: opened.store,
    modes: { shadow: settings.shadowMode, quota: settings.quotaMode },
    control: control?.data,
    fair: fair.shares,
    keyPrefix: settings.cacheKeyPrefix,
    nowUs: monotonicNowUs,
    record: openRecord({
      settings,
      log,
      faults,
      metrics,
      ruleMetrics,
      control,
      recorders: [tail, top, penalties, rollouts?.watch, fair.shares, decisionLog, events],
    }),
  };
  const additions = (ruleSet: RuleSet) => additionsFor(ruleSet, chooseAdditions(settings));
  const onFailure = countFailures(metrics);
  const answerCalls = makeAnswerCalls({ decide: makeShouldRateLimit({ ...deciding, additions }), log: faults, onFailure });
  const { service, sweeper } = openReservations({ ...deciding, reservations: opened.reservations, metrics, rules });
  const reservationCalls = openReservationCalls({ service, answerCalls, log: faults, onFailure, metrics });
  return { answerCalls, reservationCalls, sweeper, onFailure };
}

function countFailures({ shouldRateLimitError }: Metrics): OpenedDecisions['onFailure'] {
  return (kind) => {
    shouldRateLimitError.inc({ err_type: ERROR_TYPES[kind] });
  };
}

/** `err_type` as envoyproxy/ratelimit counts it: errors of Redis, and all others. */
const ERROR_TYPES: Readonly<Record<FailureKind, string>> = {
  bad_request: 'service_error',
  unavailable: 'redis_error',
  fault: 'service_error',
};
