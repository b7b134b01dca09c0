/** The messages of Weir's services as plain objects with wire names, common to gRPC and HTTP. */

import type { ByteString } from '../../../domain/descriptor/descriptor';
import { TIME_UNITS, type TimeUnit } from '../../../domain/descriptor/unit';

/** An absent field was not sent; only wrapper messages distinguish that from a default. */
export interface WireRequest {
  readonly domain?: ByteString;
  readonly descriptors?: readonly WireDescriptor[];
  readonly hits_addend?: number;
}

export interface WireDescriptor {
  readonly entries?: readonly WireEntry[];
  readonly limit?: WireOverride;
  readonly hits_addend?: WireUint64;
  readonly is_negative_hits?: boolean;
}

export interface WireEntry {
  readonly key?: ByteString;
  readonly value?: ByteString;
}

export interface WireOverride {
  readonly requests_per_unit?: number;
  readonly unit?: number;
  readonly unit_multiplier?: WireUint32;
}

export interface WireUint32 {
  readonly value?: number;
}

/** Decimal digits, because a number cannot hold all of them. */
export interface WireUint64 {
  readonly value?: string;
}

/** Values of the wire's `Code`; 0 is never sent, because callers read it as OK. */
export type WireCode = 1 | 2;

export interface WireResponse {
  readonly overall_code: WireCode;
  readonly statuses: readonly WireStatus[];
  readonly response_headers_to_add?: readonly WireHeader[];
  readonly request_headers_to_add?: readonly WireHeader[];
  readonly raw_body?: Buffer;
  readonly dynamic_metadata?: WireStruct;
}

/** A HeaderValue. */
export interface WireHeader {
  readonly key: string;
  readonly value: string;
}

/** A google.protobuf.Struct; in protobufjs the fields of Struct and Value are camelCase. */
export interface WireStruct {
  readonly fields: Readonly<Record<string, WireValue>>;
}

/** A Value has exactly one of them. */
export interface WireValue {
  readonly nullValue?: 0;
  readonly numberValue?: number;
  readonly stringValue?: string;
  readonly boolValue?: boolean;
  readonly structValue?: WireStruct;
  readonly listValue?: { readonly values: readonly WireValue[] };
}

export interface WireStatus {
  readonly code: WireCode;
  readonly current_limit?: WireLimit;
  readonly limit_remaining: number;
  readonly duration_until_reset?: { readonly seconds: number };
}

export interface WireLimit {
  readonly requests_per_unit: number;
  readonly unit: number;
  readonly name?: string;
  readonly unit_multiplier?: { readonly value: number };
}

/** A google.protobuf.Duration; 64-bit numbers are strings of digits. */
export interface WireSpan {
  readonly seconds?: string;
  readonly nanos?: number;
}

export interface WireReserved {
  readonly code: WireCode;
  readonly id: string;
  readonly granted_hits: number;
  readonly expires_in: WireSpan;
  readonly statuses: readonly WireStatus[];
  readonly share_exhausted: boolean;
  readonly repeated_call: boolean;
  readonly degraded: boolean;
  readonly state: number;
}

export interface WireStepAnswer {
  readonly id: string;
  readonly state: number;
  readonly granted_hits: number;
  readonly committed_hits: number;
  readonly cut_hits: number;
  readonly late: boolean;
  readonly unknown: boolean;
  readonly repeated_call: boolean;
  readonly degraded: boolean;
  readonly expires_in: WireSpan;
}

/** Answers of Kuadrant's service. */
export interface KuadrantReserved {
  readonly code: WireCode;
  readonly reservation_id: string;
}

export interface KuadrantCommitted {
  readonly reservation_released: boolean;
}

/** Values of `Unit`, the same in overrides and responses. 0 is UNKNOWN, also of a limit in total. */
export const WIRE_UNITS: Readonly<Record<TimeUnit, number>> = {
  second: 1,
  minute: 2,
  hour: 3,
  day: 4,
  month: 5,
  year: 6,
  week: 7,
};

/** The words of protojson and of Go's text form, by number. */
export const UNIT_WORDS: ReadonlyMap<number, string> = new Map([
  [0, 'UNKNOWN'],
  ...TIME_UNITS.map((unit) => [WIRE_UNITS[unit], unit.toUpperCase()] as const),
]);

export const CODE_WORDS: ReadonlyMap<number, string> = new Map([
  [1, 'OK'],
  [2, 'OVER_LIMIT'],
]);
