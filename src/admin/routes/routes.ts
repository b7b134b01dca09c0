/** The table of all routes of the admin API. */

import { BUCKET_ROUTES } from './bucket-routes';
import { EXPLAIN_ROUTES } from './explain-routes';
import { LOG_ROUTES } from './log-routes';
import { RECORD_ROUTES } from './record-routes';
import type { AdminRoute } from './route';
import { SYSTEM_ROUTES } from './system-routes';

export const ADMIN_ROUTES: readonly AdminRoute[] = [...RECORD_ROUTES, ...EXPLAIN_ROUTES, ...BUCKET_ROUTES, ...SYSTEM_ROUTES, ...LOG_ROUTES];
