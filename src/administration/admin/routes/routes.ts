/** The table of all routes of the admin API. */

import { AUDIT_ROUTES } from './audit-routes';
import { BUCKET_ROUTES } from './bucket-routes';
import { credit } from './credit-route';
import { events } from './events/events-route';
import { exceptions } from './exceptions-route';
import { EXPLAIN_ROUTES } from './explain-routes';
import { HISTORY_ROUTES } from './history-routes';
import { LIVE_ROUTES } from './live-routes';
import { plansInForce } from './records/plans-route';
import { RECORD_ROUTES } from './records/record-routes';
import type { AdminRoute } from '../route/route';
import { rolloutsInForce } from './records/rollouts-route';
import { simulate } from './simulate-route';
import { SESSION_ROUTES } from './session-routes';
import { SYSTEM_ROUTES } from './system-routes';
import { TAIL_ROUTES } from './tail-routes';
import { tenantUsage } from './usage-route';

export const ADMIN_ROUTES: readonly AdminRoute[] = [
  ...RECORD_ROUTES,
  plansInForce,
  exceptions,
  rolloutsInForce,
  events,
  ...EXPLAIN_ROUTES,
  simulate,
  tenantUsage,
  ...BUCKET_ROUTES,
  credit,
  ...SYSTEM_ROUTES,
  ...LIVE_ROUTES,
  ...HISTORY_ROUTES,
  ...AUDIT_ROUTES,
  ...TAIL_ROUTES,
  ...SESSION_ROUTES,
];
