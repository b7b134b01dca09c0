/** Opens the HTTP port. */

import type { CheckChoice } from '../../../configuration/settings/check-choice';
import type { Metrics } from '../../../server/observability/metrics/metrics';
import { CHECK_OUTCOMES } from '../../../server/transport/http/check-route';
import { httpRoutes, type HttpRoutesOptions, type OnDecided } from '../../../server/transport/http/http-routes';
import { HttpServer } from '../../../server/transport/http/http-server';
import type { Context } from '../context/context';
import type { OpenedDecisions } from '../deciding/open-decisions';
import type { PortLimit } from './port-limits';

interface HttpPortOptions extends Pick<HttpRoutesOptions, 'tracer'> {
  readonly limit: PortLimit;
}

/** Every outcome has its series from the start, so that a rate of denials is right from the first one. */
function openCheck(plan: CheckChoice, { checks }: Pick<Metrics, 'checks'>): NonNullable<HttpRoutesOptions['check']> {
  for (const outcome of CHECK_OUTCOMES) checks.inc({ outcome }, 0);
  return {
    plan,
    onChecked: (outcome) => {
      checks.inc({ outcome });
    },
  };
}

/** Every route that is served has its series from the start. */
function observeDecisions(
  { decisionTime }: Pick<Metrics, 'decisionTime'>,
  served: Readonly<Record<Parameters<OnDecided>[0], boolean>>,
): OnDecided {
  const json = served.json ? decisionTime.with({ via: 'json' }) : undefined;
  const check = served.check ? decisionTime.with({ via: 'check' }) : undefined;
  return (via, seconds) => (via === 'json' ? json : check)?.observe(seconds);
}

/** Makes the server; it does not listen yet. */
export function openHttp(
  { settings, rules, check, metrics, health, faults }: Context,
  { answerCalls, reservationCalls }: OpenedDecisions,
  { limit, tracer }: HttpPortOptions,
): HttpServer {
  const { jsonEnabled: servesJson, jsonRefundsEnabled: takesRefunds, httpReservationsEnabled } = settings;
  const routes = httpRoutes({
    answerCalls,
    ...(httpReservationsEnabled && { reservationCalls }),
    health,
    servesJson,
    takesRefunds,
    ...(check && { check: openCheck(check, metrics) }),
    isConfigured: (domain) => rules.ruleSet?.domains.has(domain) === true,
    tracer,
    onDecided: observeDecisions(metrics, { json: servesJson, check: check !== undefined }),
  });
  return new HttpServer({ ...routes, log: faults, ...limit });
}
