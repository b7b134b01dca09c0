/** Finds ports of this process that would take each other's address. */

import type { Settings } from './table/settings';
import type { SettingProblem } from './table/settings-error';

export type PortSettings = Pick<
  Settings,
  | 'host'
  | 'port'
  | 'grpcHost'
  | 'grpcPort'
  | 'grpcUds'
  | 'debugHost'
  | 'debugPort'
  | 'adminHost'
  | 'adminPort'
  | 'usePrometheus'
  | 'disableStats'
  | 'prometheusAddr'
>;

interface Place {
  readonly setting: string;
  /** Undefined: all addresses. */
  readonly host: string | undefined;
  readonly port: number;
}

/** One problem for each port that another one already has; it names both settings. */
export function portClashes(settings: PortSettings): readonly SettingProblem[] {
  const places = placesOf(settings);
  return places.flatMap((place, index) => {
    const other = places.slice(0, index).find((earlier) => clash(earlier, place));
    if (other === undefined) return [];
    const message = `it is port ${place.port}, and so is ${other.setting}; set one of the two to another port`;
    return [{ name: place.setting, message }];
  });
}

/** Without port 0, for which the system chooses a free one. */
function placesOf(settings: PortSettings): readonly Place[] {
  const { host, port, grpcHost, grpcPort, grpcUds, debugHost, debugPort, adminHost, adminPort } = settings;
  const { usePrometheus, disableStats, prometheusAddr } = settings;
  const places = [
    { setting: 'PORT', host, port },
    ...(grpcUds === undefined ? [{ setting: 'GRPC_PORT', host: grpcHost, port: grpcPort }] : []),
    { setting: 'DEBUG_PORT', host: debugHost, port: debugPort },
    ...(usePrometheus && !disableStats ? [{ setting: 'PROMETHEUS_ADDR', ...prometheusAddr }] : []),
    ...(adminPort === undefined ? [] : [{ setting: 'ADMIN_PORT', host: adminHost, port: adminPort }]),
  ];
  return places.filter((place) => place.port !== 0);
}

function clash(one: Place, other: Place): boolean {
  if (one.port !== other.port) return false;
  const [first, second] = [addressOf(one), addressOf(other)];
  return first === second || covers(first, second) || covers(second, first);
}

const ALL_IPV4 = '0.0.0.0';
const ALL = '::';

/** Names other than localhost are not resolved: the system reports their clash when the port is bound. */
function addressOf({ host = ALL }: Place): string {
  const address = host.replace(/^\[|\]$/g, '').toLowerCase();
  return address === 'localhost' ? '127.0.0.1' : address;
}

/** Whether the address includes the other one. */
function covers(address: string, other: string): boolean {
  return address === ALL || (address === ALL_IPV4 && !other.includes(':'));
}
