/** The messages of the rate limit service as plain objects, wire names kept: what gRPC and /json have in common. */

import type { ByteString } from '../descriptor/descriptor';
import type { UnitName } from '../rule/unit';

/** A field that is absent was not sent; only wrapper messages tell that from a sent default. */
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

/** Decimal digits, since a number does not hold them all. */
export interface WireUint64 {
  readonly value?: string;
}

/** `OK` and `OVER_LIMIT` of the wire's `Code`; 0 is never sent, since callers read it as OK. */
export type WireCode = 1 | 2;

export interface WireResponse {
  readonly overall_code: WireCode;
  readonly statuses: readonly WireStatus[];
  readonly response_headers_to_add?: readonly WireHeader[];
  readonly dynamic_metadata?: WireStruct;
}

/** A HeaderValue. */
export interface WireHeader {
  readonly key: string;
  readonly value: string;
}

/** A google.protobuf.Struct; the fields of that type and of Value are camelCase in protobufjs. */
export interface WireStruct {
  readonly fields: Readonly<Record<string, WireValue>>;
}

/** A Value has one of them. */
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
  readonly duration_until_reset?: WireDuration;
}

export interface WireLimit {
  readonly requests_per_unit: number;
  readonly unit: number;
  readonly name?: string;
  readonly unit_multiplier?: { readonly value: number };
}

export interface WireDuration {
  readonly seconds: number;
}

/** The numbers of `Unit`, the same in overrides and replies. 0 is UNKNOWN. */
export const WIRE_UNITS: Readonly<Record<UnitName, number>> = {
  second: 1,
  minute: 2,
  hour: 3,
  day: 4,
  month: 5,
  year: 6,
  week: 7,
};
