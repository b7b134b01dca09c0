/** The header that shows a caller that its domain is not configured: code and body are those of envoyproxy/ratelimit. */

export const UNKNOWN_DOMAIN_WARNING = { 'x-weir-warning': 'the domain is not configured, so no limit applies' };
