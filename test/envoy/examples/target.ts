/** What a published Envoy configuration limits, and who asks for it. */
import { readFileSync } from 'node:fs';
import type { ConnectionOptions } from 'node:tls';
import type { RawRequest } from '../../support/clients/raw-request';
import type { Pair } from '../../support/servers/certificates';
import { bearer } from '../chain/tokens';
import { certificates } from './examples';

/** One who is limited: by its address, and by its name where an example knows names. */
export interface Caller {
  readonly name: string;
  readonly address: string;
}

export interface Target {
  readonly example: string;
  /** What the limit is by. */
  readonly by: string;
  readonly request: (caller: Caller) => RawRequest;
  /** As many requests of one caller pass at once. */
  readonly passes: number;
  /** What a check says is left then, if another limit than the request's own decides it; by default nothing. */
  readonly left?: number;
  /** As many pass whatever the caller chooses, if choices have limits of their own; by default no more. */
  readonly total?: number;
  /** What time brings back, if more than a few in an hour. */
  readonly perMinute?: number;
  /** Costs are charged when the stream has ended: each request makes this number of calls, and the next one waits for them. */
  readonly settlesAfter?: number;
  /** The descriptor that is used up then. */
  readonly descriptor: (caller: Caller) => Readonly<Record<string, string>>;
  /** Headers that the example reads or writes, which callers may try. */
  readonly forged?: readonly string[];
  /** Further forms of the request, which only this example has to withstand. */
  readonly alsoAs?: (honest: RawRequest) => readonly RawRequest[];
}

/** A caller's network, as `masked_remote_address` sends it. */
export function networkOf({ address }: Caller): string {
  return `${address}/32`;
}

export function plain(target: string, headers: RawRequest['headers'] = []): Target['request'] {
  return ({ address }) => ({ from: address, target, headers });
}

export function withToken(target: string, aud: string, claims: object = {}): Target['request'] {
  return ({ name, address }) => ({ from: address, target, headers: Object.entries(bearer({ sub: name, aud, ...claims })) });
}

export function certified(namePrefix: string, target: string): Target['request'] {
  const pairs = new Map<string, RawRequest['tls']>();
  return ({ name, address }) => {
    const tls = pairs.get(name) ?? tlsOf(certificates.workload(`${namePrefix}${name}`));
    pairs.set(name, tls);
    return { from: address, target, tls };
  };
}

function tlsOf({ cert, key }: Pair): ConnectionOptions {
  return { cert: readFileSync(cert), key: readFileSync(key), ca: readFileSync(certificates.ca.cert) };
}
