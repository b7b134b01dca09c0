/** The facts that each serving process reports of itself, for all instances to list. */

export interface InstancesPort {
  list(): Promise<readonly InstanceFacts[]>;
}

/** The facts that a serving process reports of itself. */
export interface InstanceFacts {
  /** Random, new at each start. */
  readonly id: string;
  readonly host: string;
  readonly pid: number;
  readonly version: string;
  readonly startedAtMs: number;
  readonly reportedAtMs: number;
  /** Generation of the configuration in force; 0: none yet. */
  readonly generation: number;
  /** Domains of the configuration in force. */
  readonly domains: number;
  /** Whether the newest configuration was rejected. */
  readonly configRefused: boolean;
  /** Reasons why the health check reports a degraded state. */
  readonly degraded: readonly string[];
  readonly load?: LoadFacts;
  /** The engines of its Redis servers. Absent: an older version. Empty: the store is in memory, or no server was there yet. */
  readonly engines?: readonly EngineFacts[];
  /** Absent: it met none since its start, or has no Redis. */
  readonly storeError?: StoreErrorFacts;
  /** Absent: control data are off. */
  readonly control?: ControlFacts;
}

/** Over the last seconds before its report. */
export interface LoadFacts {
  /** From 0 to 1. */
  readonly eventLoopUtilization: number;
  readonly decisionsPerS: number;
}

/** The engine and version that one or more of its Redis servers show. */
export interface EngineFacts {
  /** `redis` or `redis_per_second`. */
  readonly store: string;
  readonly engine: string;
  readonly version: string;
}

/** The last error of Redis. */
export interface StoreErrorFacts {
  /** `redis` or `redis_per_second`. */
  readonly store: string;
  readonly reason: string;
  readonly atMs: number;
}

export const CONTROL_STATES = ['starting', 'following', 'behind', 'lost'] as const;

/** How a serving process follows the control data. */
export interface ControlFacts {
  readonly state: (typeof CONTROL_STATES)[number];
  /** Since the last read of the change log that the store answered. */
  readonly lagMs: number;
  /** The last change that the process has; 0: there was none. */
  readonly version: number;
  /** Records that the store lost and the process keeps. */
  readonly lost: number;
}
