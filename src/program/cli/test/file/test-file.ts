/** A file of tests of a configuration, as read: requests in virtual time, each with the answer that is expected. */

import type { RateLimitRequest } from '../../../../domain/descriptor/descriptor';
import type { ControlRecord } from '../../../../state/control/control-record';
import type { ReservationStep } from '../../../offline/virtual-service';

/** The codes of a descriptor. */
export const CODES = ['OK', 'OVER_LIMIT'] as const;

/** The codes of an answer. The last two are errors of gRPC. */
export const ANSWER_CODES = [...CODES, 'INVALID_ARGUMENT', 'NOT_FOUND'] as const;

export type AnswerCode = (typeof ANSWER_CODES)[number];

/** The states of a reservation. */
export const STATES = ['held', 'committed', 'released', 'lapsed'] as const;

export interface TestFile {
  /** As given on the command line. */
  readonly name: string;
  /** Paths of the configuration, relative to the directory of this file. */
  readonly configuration: readonly string[];
  readonly records: readonly PlacedRecord[];
  readonly tests: readonly Test[];
}

/** A record of control data. Without a domain it is of the only domain of the configuration. */
export interface PlacedRecord {
  readonly record: Omit<ControlRecord, 'domain'> & { readonly domain?: string };
  readonly line: number;
}

/** Each begins at `startUs` with full buckets. */
export interface Test {
  readonly name: string;
  readonly line: number;
  readonly startUs: number;
  readonly requests: readonly TestRequest[];
}

export interface TestRequest {
  readonly line: number;
  /** Time of the first repetition, in microseconds since 1970. */
  readonly atUs: number;
  readonly request: RateLimitRequest;
  /** The step of a reservation of these descriptors. Absent: it is a request. */
  readonly step?: ReservationStep;
  readonly times: number;
  /** Between repetitions, in microseconds. */
  readonly everyUs: number;
  /** Holds for each repetition. Absent: any answer but an error will do. */
  readonly expect: Expectation | undefined;
}

/** Every field that is present must agree. */
export interface Expectation extends Omit<StatusExpectation, 'code'>, StepExpectation {
  readonly code?: AnswerCode | undefined;
  readonly retryAfterUs?: number | 'never' | undefined;
  /** Values by lower-case name; null: the header is absent. */
  readonly headers?: ReadonlyMap<string, string | null> | undefined;
  /** One for each descriptor. */
  readonly statuses?: readonly StatusExpectation[] | undefined;
  /** How many of all repetitions were admitted. */
  readonly admitted?: number | undefined;
  readonly denied?: number | undefined;
}

/** The answer for one descriptor. In the expectation of a request: for the descriptor whose limit binds. */
export interface StatusExpectation {
  readonly code?: (typeof CODES)[number] | undefined;
  readonly remaining?: number | undefined;
  readonly resetUs?: number | undefined;
  /** `domain.path`, as `/rlconfig` and metrics name it. */
  readonly rule?: string | undefined;
  /** `100/minute`, `100/5minute`, or the name of the limit. */
  readonly limit?: string | undefined;
  /** The answer that the candidates of its limits would have given; for a request: those of all its limits. */
  readonly candidate?: (typeof CODES)[number] | undefined;
}

/** The answer to a step of a reservation. */
export interface StepExpectation {
  readonly granted?: number | undefined;
  readonly state?: (typeof STATES)[number] | undefined;
  readonly cut?: number | undefined;
  readonly late?: boolean | undefined;
  readonly unknown?: boolean | undefined;
  /** An earlier step had the effect already. */
  readonly repeated?: boolean | undefined;
}
