/** The page at `/` of the HTTP port: what this port serves, and where to look next. */

export interface IndexPageOptions {
  readonly servesJson: boolean;
  readonly servesCheck: boolean;
  readonly servesReservations: boolean;
}

/** Plain text; it names settings rather than port numbers, which a proxy may have changed. */
export function indexPage({ servesJson, servesCheck, servesReservations }: IndexPageOptions): string {
  const lines = [
    'Weir, a rate limit service for Envoy. This port serves:',
    '/healthcheck: whether Weir can decide',
    ...(servesJson ? ['/json: POST a rate limit request as JSON; the answer is 200 (OK) or 429 (OVER_LIMIT)'] : []),
    ...(servesCheck ? ['/check: for proxies that ask over HTTP; the answer is 200 (OK) or 429 (OVER_LIMIT)'] : []),
    ...(servesReservations ? ['/v1/reservations: POST to reserve hits before their number is known'] : []),
    'gRPC is on GRPC_PORT (8081 by default); rules, metrics and statistics are on DEBUG_PORT (6070 by default).',
  ];
  return lines.map((line) => `${line}\n`).join('');
}
