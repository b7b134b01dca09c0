/** The streams of a connection: those that are open, those that we have ended, and which may begin next. */

import { ConnectionError, ErrorCode } from './errors';
import { protocolError } from './frame-checks';
import type { Stream } from './stream';

/** Streams ended by us whose frames may still be on their way. */
const ENDED_MAX = 4096;

export class StreamTable {
  /** The last that the peer has begun. */
  lastId = 0;
  /** The peer has been told that the last one is the last: what it begins after that is not looked at. */
  isComplete = false;
  private readonly streams = new Map<number, Stream>();
  /** Ended by us, in the order of that. */
  private readonly ended = new Set<number>();
  /** Calls that go on although the peer has reset them. */
  private orphans = 0;
  /** The last stream before which the peer left some out. */
  private skippedBefore = { from: 0, to: 0 };

  /** Streams that are open, and calls that outlived theirs. */
  get load(): number {
    return this.streams.size + this.orphans;
  }

  get(streamId: number): Stream | undefined {
    return this.streams.get(streamId);
  }

  has(stream: Stream): boolean {
    return this.streams.get(stream.id) === stream;
  }

  /** Those that are open: not to be gone through while they may end. */
  values(): IterableIterator<Stream> {
    return this.streams.values();
  }

  /** The peer has begun a stream, whether it is opened or not. */
  begin(streamId: number): void {
    if (streamId > this.lastId + 2) this.skippedBefore = { from: this.lastId, to: streamId };
    this.lastId = streamId;
  }

  open(stream: Stream): void {
    this.streams.set(stream.id, stream);
  }

  delete(stream: Stream): void {
    this.streams.delete(stream.id);
  }

  clear(): void {
    this.streams.clear();
  }

  /** A call goes on although its stream does not; to be called again, with -1, when it is over. */
  countOrphan(change: 1 | -1): void {
    this.orphans += change;
  }

  /** We have ended it, and frames may come that were sent before the peer knew. */
  remember(streamId: number): void {
    this.ended.add(streamId);
    if (this.ended.size <= ENDED_MAX) return;
    const [oldest = 0] = this.ended;
    this.ended.delete(oldest);
  }

  /**
   * Of a stream that is not open: frames of one that we have ended may have been on their way; others may not come.
   *
   * @throws ConnectionError
   */
  checkEnded(streamId: number): void {
    if (this.isAfterLast(streamId)) return;
    this.checkNotIdle(streamId);
    if (!this.ended.has(streamId)) throw new ConnectionError(ErrorCode.STREAM_CLOSED, 'a frame of a stream that is closed');
  }

  /** @throws ConnectionError for a stream that has not begun */
  checkNotIdle(streamId: number): void {
    if (this.isAfterLast(streamId)) return;
    if (streamId === 0 || streamId % 2 === 0 || streamId > this.lastId) throw protocolError('a frame of a stream that has not begun');
  }

  /** @throws ConnectionError for a stream that the peer can't begin any more, since it has begun a later one */
  checkNotSkipped(streamId: number): void {
    const { from, to } = this.skippedBefore;
    if (streamId > from && streamId < to) throw protocolError('HEADERS of a stream that was left out');
  }

  /** A stream that the last GOAWAY has told the peer not to count on. */
  private isAfterLast(streamId: number): boolean {
    return this.isComplete && streamId % 2 === 1 && streamId > this.lastId;
  }
}
