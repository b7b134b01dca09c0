/** Every fault, in the order of docs/generated/faults.md, and those that a run tries. */

import { CLOCK_FAULTS } from './clock-faults';
import { CLUSTER_FAULTS } from './cluster-faults';
import { FAILOVER_FAULTS } from './failover-faults';
import { sampled } from '../../support/random/random';
import type { Fault } from '../run/fault';
import { MEMORY_FAULTS } from './memory-faults';
import { NETWORK_FAULTS } from './network-faults';
import { REDIS_PROCESS_FAULTS } from './redis-process-faults';
import { WEIR_PROCESS_FAULTS } from './weir-process-faults';

const KINDS: readonly (readonly Fault[])[] = [
  REDIS_PROCESS_FAULTS,
  MEMORY_FAULTS,
  NETWORK_FAULTS,
  CLOCK_FAULTS,
  WEIR_PROCESS_FAULTS,
  FAILOVER_FAULTS,
  CLUSTER_FAULTS,
];

/** Of each kind, those that the short form tries. */
const SHORT_PART = 1 / 2;

export const FAULTS: readonly Fault[] = KINDS.flat();

/** All in the long form; in the short form half of each kind, so that repeated runs try all. */
export function chooseFaults(): readonly Fault[] {
  return KINDS.flatMap((kind) => sampled(kind, { part: SHORT_PART }));
}
