/** Bounds of a request. Beyond one it is answered INVALID_ARGUMENT and charges nothing. */

/** Descriptors of one request. */
export const DESCRIPTORS_MAX = 128;

/** Entries of one descriptor. */
export const ENTRIES_MAX = 64;

/** Bytes of a domain, a key or a value: more than the largest header that Envoy takes (60 KiB), so that no client can exceed it. */
export const TEXT_BYTES_MAX = 64 * 1024;

/** Protobuf fields of a message, nested ones included: the largest request within the other bounds has about 26,000. */
export const FIELDS_MAX = 32_768;
