/** The addresses in the configs of deploy/envoy/, and what stands there when a test runs them. */
import type { Replacements } from '../../support/servers/envoy';

/** Where Weir is. */
export const ENDPOINT = '- endpoint: {address: {socket_address: {address: weir, port_value: 8081}}}';

export interface Ports {
  readonly adminPort: number;
  readonly listenPort: number;
  readonly backendPort: number;
  /** Of several, each gets its part of the calls. */
  readonly weirGrpcPorts: readonly number[];
}

export function onLoopback({ adminPort, listenPort, backendPort, weirGrpcPorts }: Ports): Replacements {
  return {
    '{address: 127.0.0.1, port_value: 9901}': `{address: 127.0.0.1, port_value: ${adminPort}}`,
    '{address: 0.0.0.0, port_value: 10000}': `{address: 127.0.0.1, port_value: ${listenPort}}`,
    '{address: backend, port_value: 8080}': `{address: 127.0.0.1, port_value: ${backendPort}}`,
    [ENDPOINT]: weirGrpcPorts.map(endpoint).join(`\n${' '.repeat(8)}`),
  };
}

function endpoint(port: number): string {
  return ENDPOINT.replace('weir', '127.0.0.1').replace('8081', String(port));
}
