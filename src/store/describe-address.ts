/** Where a Redis is, in words: apart from the client, which is not loaded for the embedded store. */

/** As people write it. */
export function describeAddress({ host, port }: { readonly host: string; readonly port: number }): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}
