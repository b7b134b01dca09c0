/** Addresses of Redis servers; separate from the client, which is not loaded for the embedded store. */

export const PORT_MAX = 65_535;

/** In the usual notation. */
export function describeAddress({ host, port }: { readonly host: string; readonly port: number }): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}
