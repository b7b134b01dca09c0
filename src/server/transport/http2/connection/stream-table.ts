/** The streams of a connection: open ones, those that the server ended, and the ids that may begin next. */

import { ConnectionError, ErrorCode } from '../frames/errors';
import { protocolError } from '../frames/frame-checks';
import type { Stream } from './stream';

/** Maximum of remembered streams that the server ended and whose frames may still arrive. */
const ENDED_MAX = 4096;

/** Initial and maximum slots of open streams. Streams beyond half of the maximum may need a Map lookup. */
const PLACES_FIRST = 8;
const PLACES_MAX = 256;

export class StreamTable {
  /** The highest stream id that the peer has used. */
  lastId = 0;
  /** The peer got the final GOAWAY: streams that it begins afterwards are ignored. */
  isComplete = false;
  /** Open streams in the slots of their ids: a peer counts up, and a Map costs several times as much. */
  private places = new Array<Stream | undefined>(PLACES_FIRST).fill(undefined);
  /** Open streams whose slot was occupied. */
  private readonly others = new Map<number, Stream>();
  private count = 0;
  /** Streams that the server ended, oldest first. */
  private readonly ended = new Set<number>();
  /** Calls in progress whose streams the peer reset. */
  private abandoned = 0;
  /** The last range of ids that the peer skipped. */
  private skippedBefore = { from: 0, to: 0 };

  /** Open streams, and abandoned calls still in progress. */
  get load(): number {
    return this.count + this.abandoned;
  }

  get(streamId: number): Stream | undefined {
    const stream = this.places[this.placeOf(streamId)];
    if (stream?.id === streamId) return stream;
    return this.others.size === 0 ? undefined : this.others.get(streamId);
  }

  /** Iterates over the open streams; none may end meanwhile. */
  *values(): IterableIterator<Stream> {
    if (this.count === 0) return;
    for (const stream of this.places) if (stream !== undefined) yield stream;
    yield* this.others.values();
  }

  /** The peer began a stream, which may or may not be opened. */
  begin(streamId: number): void {
    if (streamId > this.lastId + 2) this.skippedBefore = { from: this.lastId, to: streamId };
    this.lastId = streamId;
  }

  open(stream: Stream): void {
    stream.isOpen = true;
    this.count += 1;
    if (this.count > this.places.length / 2 && this.places.length < PLACES_MAX) this.makePlaces();
    this.put(stream);
  }

  delete(stream: Stream): void {
    if (!stream.isOpen) return;
    stream.isOpen = false;
    this.count -= 1;
    const place = this.placeOf(stream.id);
    if (this.places[place] === stream) this.places[place] = undefined;
    else this.others.delete(stream.id);
  }

  clear(): void {
    for (const stream of this.values()) stream.isOpen = false;
    this.places.fill(undefined);
    this.others.clear();
    this.count = 0;
  }

  /** Counts a call that continues after its stream was reset; call again with -1 when it ends. */
  countAbandoned(change: 1 | -1): void {
    this.abandoned += change;
  }

  /** Remembers a stream that the server ended: frames that the peer sent before it knew may still arrive. */
  remember(streamId: number): void {
    this.ended.add(streamId);
    if (this.ended.size <= ENDED_MAX) return;
    const [oldest = 0] = this.ended;
    this.ended.delete(oldest);
  }

  /**
   * Checks a frame of a stream that is not open: it is allowed only if the server ended the stream.
   *
   * @throws ConnectionError
   */
  checkEnded(streamId: number): void {
    if (this.isAfterLast(streamId)) return;
    this.checkNotIdle(streamId);
    if (!this.ended.has(streamId)) throw new ConnectionError(ErrorCode.STREAM_CLOSED, 'a frame of a closed stream');
  }

  /** @throws ConnectionError for an idle stream */
  checkNotIdle(streamId: number): void {
    if (this.isAfterLast(streamId)) return;
    if (streamId === 0 || streamId % 2 === 0 || streamId > this.lastId) throw protocolError('a frame of an idle stream');
  }

  /** @throws ConnectionError for a stream that the peer skipped and can no longer begin */
  checkNotSkipped(streamId: number): void {
    const { from, to } = this.skippedBefore;
    if (streamId > from && streamId < to) throw protocolError('HEADERS of a skipped stream');
  }

  /** Streams of clients have odd ids. */
  private placeOf(streamId: number): number {
    return (streamId >>> 1) & (this.places.length - 1);
  }

  private put(stream: Stream): void {
    const place = this.placeOf(stream.id);
    if (this.places[place] === undefined) this.places[place] = stream;
    else this.others.set(stream.id, stream);
  }

  private makePlaces(): void {
    const streams = [...this.values()];
    this.places = new Array<Stream | undefined>(this.places.length * 2).fill(undefined);
    this.others.clear();
    for (const stream of streams) this.put(stream);
  }

  /** Whether the stream is after the last one named by the final GOAWAY. */
  private isAfterLast(streamId: number): boolean {
    return this.isComplete && streamId % 2 === 1 && streamId > this.lastId;
  }
}
