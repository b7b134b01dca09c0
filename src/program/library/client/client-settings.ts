/** The options of a client, checked and with their defaults. */

import { readFailureMode } from '../limiter/failure-mode';
import type { FailureMode } from '../limiter/limiter';
import { checkOptions, isFields, kindOf, readHook, readWhole, unknownName } from '../limiter/read-option';
import { readWaitBounds, type WaitBounds } from '../wait/wait-settings';
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

const NAMES = ['address', 'timeoutMs', 'failureMode', 'onFailure', 'connections', 'inFlightMax', 'waitersMax', 'waitBytesMax', 'tls'];

const TLS_NAMES = ['ca', 'cert', 'key'];

export interface ClientSettings extends WaitBounds {
  readonly address: string;
  readonly timeoutMs: number;
  readonly failureMode: FailureMode;
  readonly onFailure: ((error: Error) => void) | undefined;
  readonly connections: number;
  readonly inFlightMax: number;
  /** Undefined: no TLS. */
  readonly tls: ClientTls | undefined;
}

/** @throws TypeError that names the option */
export function readOptions(options: ClientOptions): ClientSettings {
  checkOptions(options, { names: NAMES, place: 'createClient' });
  const { address, failureMode = 'open', tls = false, onFailure } = options;
  const { timeoutMs = TIMEOUT_MS_DEFAULT, connections = CONNECTIONS_DEFAULT, inFlightMax = IN_FLIGHT_DEFAULT } = options;
  return {
    address: readAddress(address),
    failureMode: readFailureMode(failureMode),
    onFailure: readHook('onFailure', onFailure),
    timeoutMs: readWhole('timeoutMs', timeoutMs, { min: 1, max: TIMEOUT_MS_MAX }),
    connections: readWhole('connections', connections, { min: 1, max: CONNECTIONS_MAX }),
    inFlightMax: readWhole('inFlightMax', inFlightMax, { min: 1, max: IN_FLIGHT_MAX }),
    ...readWaitBounds(options),
    tls: readTls(tls),
  };
}

export function isTimeout(timeoutMs: number): boolean {
  return Number.isInteger(timeoutMs) && timeoutMs >= 1 && timeoutMs <= TIMEOUT_MS_MAX;
}

function readAddress(address: unknown): string {
  if (typeof address === 'string' && ADDRESS.test(address)) return address;
  throw new TypeError(`address is ${JSON.stringify(address)}; write HOST:PORT, such as weir:8081, or a target such as unix:/run/weir.sock`);
}

function readTls(tls: unknown): ClientTls | undefined {
  if (tls === false) return undefined;
  if (tls === true) return {};
  if (!isFields(tls)) throw new TypeError(`tls is ${kindOf(tls)}; set true, false, or { ca, cert, key } as PEM texts`);
  const sentence = unknownName(tls, { names: TLS_NAMES, place: 'tls' });
  if (sentence !== undefined) throw new TypeError(sentence);
  for (const name of TLS_NAMES) {
    const pem = tls[name];
    if (pem !== undefined && typeof pem !== 'string' && !Buffer.isBuffer(pem))
      throw new TypeError(`tls.${name} is ${kindOf(pem)}; set a PEM text`);
  }
  return tls;
}
