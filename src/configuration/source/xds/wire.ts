/** Types of the xDS messages: field names of proto/, with absent fields left out. */

export interface WireNode {
  readonly id: string;
  readonly metadata?: { readonly fields: Readonly<Record<string, { readonly stringValue: string }>> };
  readonly user_agent_name: string;
  readonly user_agent_version: string;
}

export interface WireDiscoveryRequest {
  readonly version_info?: string;
  readonly node?: WireNode;
  readonly type_url: string;
  readonly response_nonce?: string;
  readonly error_detail?: { readonly code: number; readonly message: string };
}

export interface WireAny {
  readonly type_url?: string;
  readonly value?: Uint8Array;
}

export interface WireDiscoveryResponse {
  readonly version_info?: string;
  readonly resources?: readonly WireAny[];
  readonly type_url?: string;
  readonly nonce?: string;
}

export interface WireRateLimitConfig {
  readonly name?: string;
  readonly domain?: string;
  readonly descriptors?: readonly WireConfigDescriptor[];
}

export interface WireConfigDescriptor {
  readonly key?: string;
  readonly value?: string;
  readonly rate_limit?: WireRateLimitPolicy;
  readonly descriptors?: readonly WireConfigDescriptor[];
  readonly shadow_mode?: boolean;
  readonly detailed_metric?: boolean;
  readonly quota_mode?: boolean;
  readonly metadata?: WireStruct;
}

export interface WireRateLimitPolicy {
  /** A number of RateLimitUnit, or an unknown number. */
  readonly unit?: number;
  readonly requests_per_unit?: number;
  readonly unlimited?: boolean;
  readonly name?: string;
  readonly replaces?: readonly { readonly name?: string }[];
}

export interface WireStruct {
  readonly fields?: Readonly<Record<string, WireValue>>;
}

/** A google.protobuf.Value: at most one field is present; none means null. */
export interface WireValue {
  readonly numberValue?: number;
  readonly stringValue?: string;
  readonly boolValue?: boolean;
  readonly structValue?: WireStruct;
  readonly listValue?: { readonly values?: readonly WireValue[] };
}
