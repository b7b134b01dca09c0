/** Every level of a configuration: the list of maps, each with its fields. */

import type { Level } from '../field-types/field';
import { CANDIDATE } from './candidate';
import { DESCRIPTOR } from './descriptor';
import { EVENTS } from './events';
import { FAIR } from './fair';
import { FILE } from './file';
import { IN_FLIGHT } from './in-flight';
import { PENALTY } from './penalty';
import { PLAN } from './plan';
import { RATE_LIMIT } from './rate-limit';
import { REPLACED } from './replaces';
import { RESERVE } from './reserve';
import { RESPONSE_BODY } from './response-body';
import { RESERVATIONS } from './reservations';
import { ROLLOUT, STOP_IF } from './rollout';
import { SHOW } from './show';
import { SOFT } from './soft';

/** The root first, in the order of the documentation, and of messages about misplaced keys. */
export const LEVELS: readonly [Level, ...Level[]] = [
  FILE,
  DESCRIPTOR,
  PLAN,
  RATE_LIMIT,
  IN_FLIGHT,
  RESPONSE_BODY,
  REPLACED,
  SOFT,
  SHOW,
  EVENTS,
  RESERVATIONS,
  CANDIDATE,
  ROLLOUT,
  STOP_IF,
  PENALTY,
  RESERVE,
  FAIR,
];
