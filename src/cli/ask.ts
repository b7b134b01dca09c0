/** `weir ask`: one question to a running server, as Envoy would ask it. */

import { parseArgs } from 'node:util';
import { readCertificates, readIdentity, type NamedFile } from '../config/pem-files';
import { duration } from '../config/setting-types';
import type { SettingProblem } from '../config/settings-error';
import { toByteString } from '../descriptor/byte-string';
import type { LimitOverride } from '../descriptor/descriptor';
import { asError } from '../errors';
import { UINT32_MAX } from '../rule/limit';
import { callServer } from '../transport/call-server';
import type { ClientTls } from '../transport/client-credentials';
import { formatResponse } from '../transport/json';
import { WIRE_UNITS, type WireDescriptor } from '../transport/wire';
import { readDescriptors } from './read-descriptor';
import { readOverrides } from './read-override';
import { readWhole, UsageError } from './usage-error';

export const ASK_USAGE = `weir ask [--address HOST:PORT] --domain DOMAIN --descriptor KEY=VALUE,KEY=VALUE [--limit N/UNIT]
         [--descriptor KEY=VALUE …] [--hits N] [--timeout 5s] [--tls] [--ca FILE] [--cert FILE --key FILE]

  --address     of a server's gRPC port (default localhost:8081), or unix:PATH
  --domain      of the request
  --descriptor  as of weir explain; may be repeated
  --limit       as of weir explain, for the descriptor before it
  --hits N      what it costs (default 1); 0 checks: OK while one hit is left, and nothing is taken
  --timeout     how long the server may take (default 5s)
  --tls         over TLS; --ca, --cert and --key mean it, too
  --ca FILE     who may have signed the server's certificate (default: whom Node trusts)
  --cert, --key the client's own certificate and its key

The hits are taken. Prints the answer as /json does, whichever it is; exits with 1 if there is none.`;

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

export const ADDRESS_DEFAULT = 'localhost:8081';

/**
 * Resolves with the exit code.
 *
 * @throws UsageError
 */
export async function ask({ args }: { readonly args: readonly string[] }): Promise<number> {
  const { values, tokens } = parseArgs({ args: [...args], options: ASK_OPTIONS, tokens: true });
  const { address = ADDRESS_DEFAULT, domain = '', tls = false, ca, cert, key } = values;
  const overrides = readOverrides(tokens);
  const hits = readWhole('--hits', values.hits, { min: 0, max: UINT32_MAX, otherwise: 1 });
  const check = hits === 0 ? CHECK : undefined;
  const descriptors = readDescriptors('--descriptor', values.descriptor ?? []).map((entries, index) => ({ entries, ...toWireOverride(overrides.get(index)), ...check }));
  const timeoutMs = readTimeoutMs(values.timeout ?? '5s');
  const files = { ca: { name: '--ca', file: ca }, cert: { name: '--cert', file: cert }, key: { name: '--key', file: key } };
  const isTls = tls || Object.values(files).some(({ file }) => file !== undefined);
  const secured = isTls ? { tls: readTls(files) } : {};
  const request = { domain: toByteString(domain), descriptors, hits_addend: hits };
  try {
    const response = await callServer({ address, request, timeoutMs, ...secured });
    console.log(formatResponse(response));
    return 0;
  } catch (error) {
    console.error(`no answer from ${address}: ${adviseOn(asError(error).message)}`);
    return 1;
  }
}

/** Most who get no connection have named another port, or speak TLS to a server without it, or the other way round. */
export function adviseOn(message: string): string {
  // What grpc-js says of it ends in a note that is mostly empty.
  const reason = message.replace(/\. Resolution note: $/, '');
  return message.includes('No connection established') ? `${reason}; see that this is its gRPC port, and that TLS (--tls) is on at both ends or at none` : reason;
}

/** Of a descriptor: a request of 0 hits asks for one, as Envoy does with every call. */
const CHECK: WireDescriptor = { hits_addend: { value: '0' } };

export function toWireOverride(override: LimitOverride | undefined): WireDescriptor {
  if (override === undefined) return {};
  const { requestsPerUnit, unit, unitMultiplier } = override;
  return { limit: { requests_per_unit: requestsPerUnit, unit: WIRE_UNITS[unit], unit_multiplier: { value: unitMultiplier } } };
}

export function readTimeoutMs(written: string, option = '--timeout'): number {
  const type = duration({ min: '1ms', max: '1h' });
  const parsed = type.parse(written);
  if (parsed !== undefined && 'value' in parsed) return parsed.value;
  throw new UsageError(`${option}: ${JSON.stringify(written)} is not accepted; use ${type.accepts}`);
}

interface TlsFiles {
  readonly ca: NamedFile;
  readonly cert: NamedFile;
  readonly key: NamedFile;
}

/** @throws UsageError with everything that is wrong with the files */
export function readTls({ ca, cert, key }: TlsFiles): ClientTls {
  const problems: SettingProblem[] = [];
  const authorities = readCertificates(ca, problems);
  const identity = readIdentity({ cert, key }, problems);
  if (problems.length > 0) throw new UsageError(problems.map(({ name, message }) => `${name}: ${message}`).join('\n'));
  return {
    authorities: authorities === undefined ? undefined : Buffer.from(authorities),
    certificate: identity && Buffer.from(identity.cert),
    key: identity && Buffer.from(identity.key),
  };
}
