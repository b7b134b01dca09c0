/** A Redis and the network to it, simulated: the real engines on states that a fault can take away. */

import type { BucketLimit, Group, Adjustment } from '../../src/domain/bucket/take';
import type { BucketWrite } from '../../src/domain/decide/decide-group';
import type { Engine } from '../../src/domain/algorithm/engine';
import { TRAITS, type BucketState } from '../../src/domain/algorithm/algorithms';
import { adjustBucket } from '../../src/domain/decide/adjust-bucket';
import type { GroupOutcome, AdjustOutcome, Store } from '../../src/state/store/port/store';
import { StoreError } from '../../src/state/store/port/store-error';
import type { VirtualTime } from './virtual-time';
import { decideGroup } from '../support/decisions/decide-group';

/** What becomes of a call. */
export type Weather =
  | 'fine'
  /** Refused at once: nothing runs. */
  | 'refused'
  /** Answered with an error: nothing runs. */
  | 'full'
  /** Runs and is answered within the deadline, or beyond it. */
  | 'slow'
  | 'too slow'
  /** Runs, and its answer is lost: the connection breaks a while later. */
  | 'answers lost'
  /** Runs, and is answered twice. */
  | 'answers doubled'
  /** Stopped: what is sent runs when the weather changes, or never if the server dies first. */
  | 'stopped';

export const WEATHERS: readonly Weather[] = ['fine', 'refused', 'full', 'slow', 'too slow', 'answers lost', 'answers doubled', 'stopped'];

/** Milliseconds, for a deadline of 5. */
const FINE_MS = 0.4;
const SLOW_MS = 4;
const TOO_SLOW_MS = 12;
const LOST_MS = 100;

export interface SimulatedRedisOptions {
  readonly time: VirtualTime;
  readonly startUs: number;
}

export class SimulatedRedis {
  private weather: Weather = 'fine';
  private states = new Map<string, BucketState>();
  /** What a replica holds: the states of a while ago. */
  private copied = new Map<string, BucketState>();
  private stopped: { readonly run: () => void; readonly die: () => void }[] = [];
  /** How far its clock is from ours. */
  clockOffsetUs = 0;

  constructor(private readonly options: SimulatedRedisOptions) {}

  /** The store of one instance. */
  connect(): Store {
    return {
      take: (groups) => this.call(() => groups.map((group) => this.decide(group))),
      adjust: (adjustments) => this.call(() => adjustments.map((adjustment) => this.adjustOne(adjustment))),
      close: () => Promise.resolve(),
    };
  }

  /** Changes it. What a stopped server was sent runs now. */
  turn(weather: Weather): void {
    this.weather = weather;
    for (const { run } of this.stopped.splice(0)) run();
  }

  /** The replica has all that the primary has by now. */
  copy(): void {
    this.copied = new Map(this.states);
  }

  /** The primary dies with what was not copied, and with what it was sent while it was stopped; the replica takes its place. */
  failOver(): void {
    for (const { die } of this.stopped.splice(0)) die();
    this.states = new Map(this.copied);
    this.weather = 'fine';
  }

  nowUs(): number {
    return this.options.startUs + this.options.time.nowUs + this.clockOffsetUs;
  }

  /** Hits that the bucket counts under this limit. */
  used(bucketKey: string, limit: BucketLimit): number {
    const nowUs = this.nowUs();
    const engine: Engine<BucketState> = TRAITS[limit.algorithm].engine;
    return limit.capacity - engine.room(engine.advance(this.states.get(bucketKey) ?? engine.fresh(limit, nowUs), limit, nowUs), limit);
  }

  private call<Answer>(run: () => Answer): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const after = (ms: number, what: () => void): void => void setTimeout(what, ms);
      /** Runs half way, as the request needs its time too. */
      const answerAfter = (ms: number): void => {
        after(ms / 2, () => {
          const answer = run();
          after(ms / 2, () => {
            resolve(answer);
          });
        });
      };
      const lose = (): void => {
        reject(new StoreError('Redis is not connected', 'connection'));
      };
      switch (this.weather) {
        case 'fine':
          answerAfter(FINE_MS);
          break;
        case 'slow':
          answerAfter(SLOW_MS);
          break;
        case 'too slow':
          answerAfter(TOO_SLOW_MS);
          break;
        case 'answers doubled': {
          const answer = run();
          after(FINE_MS, () => {
            resolve(answer);
          });
          after(2 * FINE_MS, () => {
            resolve(answer);
          });
          break;
        }
        case 'answers lost':
          run();
          after(LOST_MS, lose);
          break;
        case 'refused':
          reject(new StoreError('Redis is not connected', 'connection', { mayHaveRun: false }));
          break;
        case 'full':
          reject(new StoreError('Redis answered the error OOM', 'script', { mayHaveRun: false }));
          break;
        case 'stopped':
          this.stopped.push({
            run: () => {
              resolve(run());
            },
            die: lose,
          });
      }
    });
  }

  private decide(group: Group): GroupOutcome {
    const { writes, ...verdict } = decideGroup({ group, nowUs: this.nowUs(), read: (bucketKey) => this.states.get(bucketKey) });
    for (const write of writes) this.write(write);
    return verdict;
  }

  private adjustOne(adjustment: Adjustment): AdjustOutcome {
    const { applied, write } = adjustBucket({ adjustment, nowUs: this.nowUs(), stored: this.states.get(adjustment.bucketKey) });
    if (write !== undefined) this.write(write);
    return applied;
  }

  private write({ bucketKey, state }: BucketWrite): void {
    if (state === undefined) this.states.delete(bucketKey);
    else this.states.set(bucketKey, state);
  }
}
