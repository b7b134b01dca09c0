/** Where the entries of descriptors come from, for callers that send an HTTP request instead of descriptors. */

import type { ByteString } from './descriptor';

/** The values that a request may give. `header` and `query` have the name of a header or of a parameter, headers in lower case. */
export type EntrySource =
  | { readonly from: 'path' | 'method' | 'host' | 'client_ip' }
  | { readonly from: 'header' | 'query'; readonly name: string }
  | { readonly from: 'text'; readonly text: ByteString };

/** An entry of a descriptor to make. */
export interface EntryPlan {
  readonly key: ByteString;
  readonly source: EntrySource;
  /** The value if the request has none: a client that leaves something out must not get around a limit. */
  readonly absent: ByteString;
}

/** The entries of a descriptor to make, in their order. */
export type DescriptorPlan = readonly EntryPlan[];
