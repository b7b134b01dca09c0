/** The options of a client, checked and with their defaults. */

import { readFailureMode } from '../limiter/failure-mode';
import type { FailureMode } from '../limiter/limiter';
import type { ClientOptions, ClientTls } from './client';

/** As long as Envoy waits for its rate limit service by default. */
const TIMEOUT_MS_DEFAULT = 20;
export const TIMEOUT_MS_MAX = 60_000;

const CONNECTIONS_DEFAULT = 2;
const CONNECTIONS_MAX = 64;

const IN_FLIGHT_DEFAULT = 10_000;
const IN_FLIGHT_MAX = 1_000_000;

/** A target with a scheme, or a host and a port; gRPC's default port, 443, is never the port of Weir. */
const ADDRESS = /^(?:(?:unix|unix-abstract|dns|ipv4|ipv6):.+|(?:\[[^\]]+\]|[^:/]+):\d{1,5})$/;

export interface ClientSettings {
  readonly address: string;
  readonly timeoutMs: number;
  readonly failureMode: FailureMode;
  readonly connections: number;
  readonly inFlightMax: number;
  /** Undefined: no TLS. */
  readonly tls: ClientTls | undefined;
}

/** @throws TypeError that names the option */
export function readOptions(options: ClientOptions): ClientSettings {
  const { address, failureMode = 'open', tls = false } = options;
  if (typeof address !== 'string' || !ADDRESS.test(address))
    throw new TypeError(
      `address is ${JSON.stringify(address)}; write HOST:PORT, such as weir:8081, or a target such as unix:/run/weir.sock`,
    );
  return {
    address,
    failureMode: readFailureMode(failureMode),
    timeoutMs: readWhole('timeoutMs', options.timeoutMs ?? TIMEOUT_MS_DEFAULT, TIMEOUT_MS_MAX),
    connections: readWhole('connections', options.connections ?? CONNECTIONS_DEFAULT, CONNECTIONS_MAX),
    inFlightMax: readWhole('inFlightMax', options.inFlightMax ?? IN_FLIGHT_DEFAULT, IN_FLIGHT_MAX),
    tls: tls === false ? undefined : tls === true ? {} : tls,
  };
}

export function isTimeout(timeoutMs: number): boolean {
  return isWhole(timeoutMs, TIMEOUT_MS_MAX);
}

function isWhole(value: number, max: number): boolean {
  return Number.isInteger(value) && value >= 1 && value <= max;
}

function readWhole(name: string, value: number, max: number): number {
  if (isWhole(value, max)) return value;
  throw new TypeError(`${name} is ${String(value)}; set a whole number from 1 to ${max}`);
}
