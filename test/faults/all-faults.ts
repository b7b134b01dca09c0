/** Every fault, in the order of docs/faults.md. */

import { CLOCK_FAULTS } from './clock-faults';
import { CLUSTER_FAULTS } from './cluster-faults';
import { FAILOVER_FAULTS } from './failover-faults';
import type { Fault } from './fault';
import { MEMORY_FAULTS } from './memory-faults';
import { NETWORK_FAULTS } from './network-faults';
import { REDIS_PROCESS_FAULTS } from './redis-process-faults';
import { WEIR_PROCESS_FAULTS } from './weir-process-faults';

export const FAULTS: readonly Fault[] = [
  ...REDIS_PROCESS_FAULTS,
  ...MEMORY_FAULTS,
  ...NETWORK_FAULTS,
  ...CLOCK_FAULTS,
  ...WEIR_PROCESS_FAULTS,
  ...FAILOVER_FAULTS,
  ...CLUSTER_FAULTS,
];
