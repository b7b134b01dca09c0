/** The bytes of a log: of a file or of standard input, decompressed where they begin as gzip or zstd do. */

import { createReadStream } from 'node:fs';
import { Readable } from 'node:stream';
import * as zlib from 'node:zlib';
import { UsageError } from '../../usage-error';

/** The name of standard input. */
export const STANDARD_INPUT = '-';

const CHUNK_BYTES = 256 * 1024;

const GZIP = Buffer.from([0x1f, 0x8b]);
const ZSTD = Buffer.from([0x28, 0xb5, 0x2f, 0xfd]);

/** Node has it since 22.15. */
interface WithZstd {
  readonly createZstdDecompress?: (options: { readonly chunkSize: number }) => NodeJS.ReadWriteStream;
}

export interface LogBytes {
  readonly chunks: AsyncIterator<Buffer>;
  /** Ends the reading before the end. */
  readonly close: () => void;
}

export interface LogBytesOptions {
  readonly name: string;
  /** Called with the number of bytes that were read, before they are decompressed. */
  readonly onRead: (bytes: number) => void;
}

/**
 * @throws UsageError for zstd on a Node.js that cannot decompress it; the error of the file system
 */
export async function openLogBytes({ name, onRead }: LogBytesOptions): Promise<LogBytes> {
  const source = name === STANDARD_INPUT ? process.stdin : createReadStream(name, { highWaterMark: CHUNK_BYTES });
  const close = () => {
    source.destroy();
  };
  const raw = counted(source, onRead);
  const first = await raw.next();
  if (first.done === true) return { chunks: raw, close };
  const decompress = decompressorOf(first.value, name);
  const whole = prepended(first.value, raw);
  if (decompress === undefined) return { chunks: whole, close };
  const input = Readable.from(whole, { objectMode: false });
  input.on('error', (error) => {
    decompress.emit('error', error);
  });
  const output = input.pipe(decompress) as unknown as AsyncIterable<Buffer>;
  return { chunks: output[Symbol.asyncIterator](), close };
}

async function* counted(source: AsyncIterable<Buffer>, onRead: (bytes: number) => void): AsyncGenerator<Buffer, void> {
  let head: Buffer | undefined;
  let isHead = true;
  for await (const chunk of source) {
    onRead(chunk.length);
    // A pipe may deliver fewer bytes than the mark of a format has.
    const bytes: Buffer = head === undefined ? chunk : Buffer.concat([head, chunk]);
    if (isHead && bytes.length < ZSTD.length) {
      head = bytes;
      continue;
    }
    isHead = false;
    head = undefined;
    yield bytes;
  }
  if (head !== undefined) yield head;
}

async function* prepended(first: Buffer, rest: AsyncGenerator<Buffer, void>): AsyncGenerator<Buffer, void> {
  yield first;
  yield* rest;
}

function decompressorOf(first: Buffer, name: string): NodeJS.ReadWriteStream | undefined {
  if (first.subarray(0, GZIP.length).equals(GZIP)) return zlib.createGunzip({ chunkSize: CHUNK_BYTES });
  if (!first.subarray(0, ZSTD.length).equals(ZSTD)) return undefined;
  const { createZstdDecompress } = zlib as WithZstd;
  if (createZstdDecompress !== undefined) return createZstdDecompress({ chunkSize: CHUNK_BYTES });
  const shown = name === STANDARD_INPUT ? 'LOG.zst' : name;
  throw new UsageError(
    `weir replay: ${name} is compressed with zstd, which Node.js ${process.versions.node} cannot read (22.15 can); use zstd -dc ${shown} | weir replay - …`,
  );
}
