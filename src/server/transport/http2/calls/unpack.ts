/** Decompresses a message in a thread of libuv, up to a size limit. */

import { promisify } from 'node:util';
import { gunzip, inflate } from 'node:zlib';
import { status } from '../../grpc/grpc-status';
import type { CallError } from '../../grpc/grpc-method';
import type { HeaderField } from '../hpack/header-field';
import { valuesOf } from '../connection/request-head';

/** Maximum expansion of a byte by deflate, and thus by gzip. */
const UNPACKED_BYTES_MAX = 1032;

const UNPACK = { gzip: promisify(gunzip), deflate: promisify(inflate) } as const;

/** The first `grpc-encoding` of a request that is not identity. */
export function encodingOf(fields: readonly HeaderField[]): string {
  return valuesOf(fields, 'grpc-encoding').find((encoding) => encoding !== 'identity') ?? 'identity';
}

/** The maximum size of the decompressed message, from its compressed size. */
export function unpackedBytesMax(packedBytes: number, bytesMax: number): number {
  return Math.min(packedBytes * UNPACKED_BYTES_MAX, bytesMax);
}

/** Never rejects. */
export async function unpack(
  packed: Buffer,
  { encoding, bytesMax }: { readonly encoding: string; readonly bytesMax: number },
): Promise<Buffer | CallError> {
  if (encoding === 'identity') return { code: status.INTERNAL, details: 'Received a compressed message without grpc-encoding' };
  if (encoding !== 'gzip' && encoding !== 'deflate')
    return { code: status.UNIMPLEMENTED, details: `Received message compressed with unsupported encoding "${encoding}"` };
  try {
    return await UNPACK[encoding](packed, { maxOutputLength: bytesMax });
  } catch (error) {
    const isTooLarge = (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE';
    return isTooLarge
      ? { code: status.RESOURCE_EXHAUSTED, details: `Received message that decompresses to a size larger than ${bytesMax}` }
      : { code: status.INTERNAL, details: 'Failed to decompress message' };
  }
}
