/** `/bin/ratelimit_client` of the image: the client of envoyproxy/ratelimit, with the same flags and output. */

import { toByteString } from '../../../domain/descriptor/byte-string';
import { asError } from '../../../lib/errors';
import { callServer } from '../../../server/transport/grpc/call-server';
import { ADDRESS_DEFAULT, readTls } from '../ask';
import { readGoFlags } from './go-flags';
import { formatProtoText } from './proto-text';
import { readDescriptors } from '../read-descriptor';

export const REFERENCE_CLIENT_FLAGS = {
  dial_string: 'string',
  domain: 'string',
  descriptors: 'list',
  'grpc-use-tls': 'boolean',
  'grpc-server-ca-file': 'string',
  'grpc-cert-file': 'string',
  'grpc-key-file': 'string',
  'oltp-protocol': 'string',
} as const;

/** Bounds the call; the reference client waits forever. */
const TIMEOUT_MS = 60_000;

/**
 * Resolves to the exit code.
 *
 * @throws UsageError
 */
export async function referenceClient({ args }: { readonly args: readonly string[] }): Promise<number> {
  const flags = readGoFlags(args, REFERENCE_CLIENT_FLAGS);
  const { dial_string: address = ADDRESS_DEFAULT, domain = '', 'oltp-protocol': protocol = '' } = flags;
  if (protocol !== '') console.error('-oltp-protocol has no effect: this client does not send traces');
  const descriptors = readDescriptors('-descriptors', flags.descriptors);
  const fileOf = (name: 'grpc-server-ca-file' | 'grpc-cert-file' | 'grpc-key-file') => ({ name: `-${name}`, file: given(flags[name]) });
  const files = { ca: fileOf('grpc-server-ca-file'), cert: fileOf('grpc-cert-file'), key: fileOf('grpc-key-file') };
  const request = { domain: toByteString(domain), descriptors: descriptors.map((entries) => ({ entries })), hits_addend: 1 };
  const tls = flags['grpc-use-tls'] ? { tls: readTls(files) } : {};
  try {
    console.log(`response: ${formatProtoText(await callServer({ address, request, timeoutMs: TIMEOUT_MS, ...tls }))}`);
    return 0;
  } catch (error) {
    // grpc-js appends a note that is mostly empty.
    console.log(`request error: ${asError(error).message.replace(/\. Resolution note: $/, '')}`);
    return 1;
  }
}

/** An empty flag counts as absent. */
function given(value: string | undefined): string | undefined {
  return value === '' ? undefined : value;
}
