/** `weir ask`: sends one request to a running server, as Envoy would. */

import { status, type ServiceError } from '@grpc/grpc-js';
import { readCertificates, readIdentity, type NamedFile } from '../../configuration/settings/tls/pem-files';
import type { SettingProblem } from '../../configuration/settings/table/settings-error';
import { toByteString } from '../../domain/descriptor/byte-string';
import type { LimitOverride } from '../../domain/descriptor/descriptor';
import { asError } from '../../lib/errors';
import { UINT32_MAX } from '../../domain/rule/limit';
import { callServer } from '../../server/transport/grpc/call-server';
import { grpcAuthorities } from '../../configuration/settings/tls/trusted-authorities';
import type { ClientTls } from '../../server/transport/grpc/client-credentials';
import { formatResponse } from '../../server/transport/messages/response';
import { WIRE_UNITS, type WireDescriptor, type WireStatus } from '../../server/transport/messages/wire';
import { readArgs } from './read-args';
import { adviseOnEntries, readDescriptors } from './read-descriptor';
import { readOverrides } from './read-override';
import { readTimeoutMs } from './read-timeout';
import { readWhole, UsageError } from './usage-error';

export const ASK_USAGE = `weir ask [--address HOST:PORT] --domain DOMAIN --descriptor KEY=VALUE,KEY=VALUE [--limit N/UNIT]
         [--descriptor KEY=VALUE …] [--hits N] [--timeout 5s] [--tls] [--ca FILE] [--cert FILE --key FILE]

  --address     gRPC address of the server (default localhost:8081), or unix:PATH
  --domain      domain of the request
  --descriptor  same as for weir explain; may be repeated
  --limit       override limit of the preceding descriptor: 20/minute, 20/5minute
  --hits N      hits of the request (default 1); 0 is a check: OK while one hit is left, charges nothing
  --timeout     timeout of the call (default 5s)
  --tls         use TLS; implied by --ca, --cert and --key
  --ca FILE     CA bundle that must have signed the server certificate (default: CAs of Node and the system)
  --cert, --key client certificate and key

Charges the hits and prints the answer in the format of /json. Exit codes: 0 OK or OVER_LIMIT, 1 no answer or an error.`;

export const ASK_OPTIONS = {
  address: { type: 'string' },
  domain: { type: 'string' },
  descriptor: { type: 'string', multiple: true },
  limit: { type: 'string', multiple: true },
  hits: { type: 'string' },
  timeout: { type: 'string' },
  tls: { type: 'boolean' },
  ca: { type: 'string' },
  cert: { type: 'string' },
  key: { type: 'string' },
} as const;

const GRPC_PORT_DEFAULT = 8081;

export const ADDRESS_DEFAULT = `localhost:${GRPC_PORT_DEFAULT}`;

/**
 * Resolves to the exit code.
 *
 * @throws UsageError
 */
export async function ask({ args }: { readonly args: readonly string[] }): Promise<number> {
  const { values, tokens } = readArgs(args, {
    command: 'weir ask',
    usage: ASK_USAGE,
    options: ASK_OPTIONS,
    adviseOnOperand: adviseOnEntries,
  });
  const { tls = false, ca, cert, key } = values;
  const [address, domain] = [readAddress(values.address), readDomain(values.domain)];
  const overrides = readOverrides(tokens);
  const hits = readWhole('--hits', values.hits, { min: 0, max: UINT32_MAX, otherwise: 1 });
  const check = hits === 0 ? CHECK : undefined;
  const descriptors = readDescriptors('--descriptor', values.descriptor ?? []).map((entries, index) => ({
    entries,
    ...toWireOverride(overrides.get(index)),
    ...check,
  }));
  const timeoutMs = readTimeoutMs(values.timeout ?? '5s');
  const files = { ca: { name: '--ca', file: ca }, cert: { name: '--cert', file: cert }, key: { name: '--key', file: key } };
  const isTls = tls || Object.values(files).some(({ file }) => file !== undefined);
  const secured = isTls ? { tls: readTls(files) } : {};
  const request = { domain: toByteString(domain), descriptors, hits_addend: hits };
  try {
    const response = await callServer({ address, request, timeoutMs, ...secured });
    console.log(formatResponse(response));
    if (response.statuses.every(isWithoutLimit)) console.error(NOT_LIMITED);
    return 0;
  } catch (error) {
    console.error(describeFailure(error, address));
    return 1;
  }
}

const NOT_LIMITED =
  'No limit applies: the server does not know the domain, or none of its rules matches. weir explain shows which rules match; /rlconfig on the debug port lists the rules in force.';

/** Unlimited rules have remaining hits too, as limits do. */
function isWithoutLimit({ current_limit: limit, limit_remaining: remaining }: WireStatus): boolean {
  return !limit && remaining === 0;
}

/** @throws UsageError */
export function readDomain(given: string | undefined): string {
  if (given === undefined || given === '') throw new UsageError('--domain is missing; give the domain that the server configures');
  return given;
}

/** A host and a port, or a target that grpc-js accepts: `unix:PATH`, `dns:…`. gRPC's default port, 443, is never the port of Weir. */
export function readAddress(given = ADDRESS_DEFAULT): string {
  const shown = JSON.stringify(given);
  const [, rest] = /^https?:\/\/([^/]*)/i.exec(given) ?? [];
  if (rest !== undefined)
    throw new UsageError(`--address: ${shown} is a URL; write ${/:\d+$/.test(rest) ? rest : `${rest}:${GRPC_PORT_DEFAULT}`}`);
  if (/^(?:unix|unix-abstract|dns|ipv4|ipv6|xds):/i.test(given)) return given;
  const [, port] = /^(?:\[[^\]]+\]|[^:]+):(\d+)$/.exec(given) ?? [];
  if (port === undefined)
    throw new UsageError(
      `--address: ${shown} ${given.includes(':') ? 'is not HOST:PORT; write' : 'has no port; write'} ${/^[\w.-]+$/.test(given) ? given : 'localhost'}:${GRPC_PORT_DEFAULT}`,
    );
  if (Number(port) < 1 || Number(port) > 65_535)
    throw new UsageError(`--address: the port of ${shown} is out of range; use a port from 1 to 65535`);
  return given;
}

/** Why a call failed, and what to check: the server may be down, TLS may be on at one end only, or the server may have rejected the request. */
export function describeFailure(error: unknown, address: string): string {
  const { code, details } = error as Partial<ServiceError>;
  // grpc-js appends a note that is mostly empty.
  const reason = (details ?? asError(error).message).replace(/\.? ?Resolution note: $/, '');
  if (reason.includes('No connection established') || code === undefined) {
    const advice = reason.includes('certificate')
      ? "pass the CA that signed the server's certificate with --ca"
      : 'check that this is its gRPC port, and that TLS (--tls) is on at both ends or at neither';
    return `no answer from ${address}: ${reason}; ${advice}`;
  }
  if (code === status.DEADLINE_EXCEEDED) return `no answer from ${address} in time (${reason}); check the server, or raise --timeout`;
  return `${address} rejected the request: ${status[code]}: ${reason}`;
}

/** A descriptor of 0 hits: the server charges one hit for a request of 0 hits, as for every call of Envoy, unless the descriptor says 0. */
const CHECK: WireDescriptor = { hits_addend: { value: '0' } };

export function toWireOverride(override: LimitOverride | undefined): WireDescriptor {
  if (override === undefined) return {};
  const { requestsPerUnit, unit, unitMultiplier } = override;
  return { limit: { requests_per_unit: requestsPerUnit, unit: WIRE_UNITS[unit], unit_multiplier: { value: unitMultiplier } } };
}

/** @throws UsageError with every problem of the files */
export function readTls({ ca, cert, key }: { readonly ca: NamedFile; readonly cert: NamedFile; readonly key: NamedFile }): ClientTls {
  const problems: SettingProblem[] = [];
  const authorities = readCertificates(ca, problems);
  const identity = readIdentity({ cert, key }, problems);
  if (problems.length > 0) throw new UsageError(problems.map(({ name, message }) => `${name}: ${message}`).join('\n'));
  return {
    authorities: authorities === undefined ? grpcAuthorities() : Buffer.from(authorities),
    certificate: identity && Buffer.from(identity.cert),
    key: identity && Buffer.from(identity.key),
  };
}
