/** Requests that bound the chunks of their bodies, and answers that end the connection if they come before the end of their request. */

import { IncomingMessage, ServerResponse, type OutgoingHttpHeader, type OutgoingHttpHeaders } from 'node:http';
import { BadRequestError } from '../errors';
import { PacedSocket } from './paced-socket';

/** A body may have `CHUNKS_FREE` chunks of any size, and one more for each `CHUNK_BYTES_MIN` bytes. */
const CHUNKS_FREE = 2_048;
const CHUNK_BYTES_MIN = 32;

/** The rest of an announced body of at most this length is read after its answer, so that its connection goes on. */
const KEPT_BODY_BYTES_MAX = 64 * 1024;

export class CountedRequest extends IncomingMessage {
  private chunks = 0;
  private bytes = 0;

  override push(chunk: unknown, encoding?: BufferEncoding): boolean {
    if (!(chunk instanceof Uint8Array) || this.headers['transfer-encoding'] === undefined) return super.push(chunk, encoding);
    if (endsWith(this)) return true;
    this.chunks += 1;
    this.bytes += chunk.length;
    if (this.chunks <= CHUNKS_FREE + this.bytes / CHUNK_BYTES_MIN) return super.push(chunk, encoding);
    this.refuse();
    return true;
  }

  /** The parser gets nothing more of the connection, and the reader of the body learns it. */
  private refuse(): void {
    pacedOf(this)?.stopReading();
    const error = new BadRequestError(`the body has over ${CHUNKS_FREE} chunks of under ${CHUNK_BYTES_MIN} bytes each; send larger chunks`);
    if (this.listenerCount('error') > 0) this.emit('error', error);
  }
}

type Headers = OutgoingHttpHeaders | OutgoingHttpHeader[];

export class EndingResponse<Request extends IncomingMessage = IncomingMessage> extends ServerResponse<Request> {
  override writeHead(status: number, reason?: string | Headers, headers?: Headers): this {
    if (this.comesEarly()) {
      this.shouldKeepAlive = false;
      this.setHeader('connection', 'close');
      pacedOf(this.req)?.stopReading();
    }
    return typeof reason === 'string' ? super.writeHead(status, reason, headers) : super.writeHead(status, reason);
  }

  /** Whether the rest of the request is dropped. */
  private comesEarly(): boolean {
    const { complete, headers } = this.req;
    if (complete) return false;
    if (headers['transfer-encoding'] !== undefined) return true;
    const length = Number(headers['content-length'] ?? 0);
    const isLast = !this.shouldKeepAlive || this.getHeader('connection') === 'close';
    return length > KEPT_BODY_BYTES_MAX || (length > 0 && isLast);
  }
}

function pacedOf({ socket }: IncomingMessage): PacedSocket | undefined {
  const duplex: unknown = socket;
  return duplex instanceof PacedSocket ? duplex : undefined;
}

function endsWith(request: IncomingMessage): boolean {
  return pacedOf(request)?.isEnding === true;
}
