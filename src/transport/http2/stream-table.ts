/** The streams of a connection: those that are open, those that we have ended, and which may begin next. */

import { ConnectionError, ErrorCode } from './errors';
import { protocolError } from './frame-checks';
import type { Stream } from './stream';

/** Streams ended by us whose frames may still be on their way. */
const ENDED_MAX = 4096;

/** Places of open streams: to begin with, and at most. Streams beyond half of that may have to be looked for. */
const PLACES_FIRST = 8;
const PLACES_MAX = 256;

export class StreamTable {
  /** The last that the peer has begun. */
  lastId = 0;
  /** The peer has been told that the last one is the last: what it begins after that is not looked at. */
  isComplete = false;
  /** Streams that are open, each in the place that its number names: a peer counts up, and a Map costs several times as much. */
  private places = new Array<Stream | undefined>(PLACES_FIRST).fill(undefined);
  /** Those whose place was taken by another. */
  private readonly others = new Map<number, Stream>();
  private count = 0;
  /** Ended by us, in the order of that. */
  private readonly ended = new Set<number>();
  /** Calls that go on although the peer has reset them. */
  private orphans = 0;
  /** The last stream before which the peer left some out. */
  private skippedBefore = { from: 0, to: 0 };

  /** Streams that are open, and calls that outlived theirs. */
  get load(): number {
    return this.count + this.orphans;
  }

  get(streamId: number): Stream | undefined {
    const stream = this.places[this.placeOf(streamId)];
    if (stream?.id === streamId) return stream;
    return this.others.size === 0 ? undefined : this.others.get(streamId);
  }

  /** Those that are open: not to be gone through while they may end. */
  *values(): IterableIterator<Stream> {
    if (this.count === 0) return;
    for (const stream of this.places) if (stream !== undefined) yield stream;
    yield* this.others.values();
  }

  /** The peer has begun a stream, whether it is opened or not. */
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

  /** A client's streams have odd numbers. */
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

  /** A stream that the last GOAWAY has told the peer not to count on. */
  private isAfterLast(streamId: number): boolean {
    return this.isComplete && streamId % 2 === 1 && streamId > this.lastId;
  }
}
