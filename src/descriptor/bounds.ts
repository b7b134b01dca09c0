/** How large a request may be. A request beyond a bound is answered INVALID_ARGUMENT and counts nothing. */

/** Descriptors of one request. */
export const DESCRIPTORS_MAX = 128;

/** Entries of one descriptor. */
export const ENTRIES_MAX = 64;

/** Bytes of a domain, a key or a value: above the largest header Envoy takes (60 KiB), so no client can trip it. */
export const TEXT_BYTES_MAX = 64 * 1024;
