/** Counts the hits of rollouts over all processes, and takes a rollout back whose guard says so. It never delays a decision. */

import { toText } from '../../domain/descriptor/byte-string';
import type { Stage, StageInForce, StopIf, VersionedStage } from '../../domain/rule/stage/stage';
import type { DecidedRequest } from '../../domain/respond/decided/decided-request';
import { US_PER_S } from '../../lib/time-units';
import { NO_COUNTS, widthOf, type HitCounts, type RolloutCounter, type RolloutCounts, type RolloutName } from './rollout-counter';

/** Interval between two counts of a rollout, in milliseconds. */
export const FLUSH_MS = 1_000;

/** Rollouts with hits that are not counted yet; those of further ones are dropped. */
const PENDING_MAX = 1_000;

/** Fewest hits of the stage on which a guard judges. */
export const JUDGED_HITS_MIN = 100;

/** A stage that its guard ends. */
export interface Breach extends RolloutName {
  readonly stage: Stage;
  readonly values: VersionedStage;
  readonly stopIf: StopIf;
  /** Over the measured time. */
  readonly measured: HitCounts;
}

export interface RolloutWatchParts {
  readonly counter: RolloutCounter;
  /** Takes the rollout back. Several processes may call it for one breach. */
  readonly stop: (breach: Breach) => Promise<void>;
  /** Called if the store or the control data failed. */
  readonly onError: (error: unknown) => void;
}

interface Pending {
  values: VersionedStage;
  readonly hits: [candidate: number, candidateOver: number, current: number, currentOver: number];
}

export class RolloutWatch {
  private readonly pending = new Map<Stage, Pending>();
  private timer: NodeJS.Timeout | undefined;
  private flushing: Promise<void> | undefined;

  constructor(private readonly parts: RolloutWatchParts) {}

  start(): void {
    this.timer = setInterval(() => {
      this.flushing ??= this.flush().finally(() => {
        this.flushing = undefined;
      });
    }, FLUSH_MS).unref();
  }

  async stop(): Promise<void> {
    clearInterval(this.timer);
    await this.flushing;
    await this.flush();
  }

  record({ request, matched, decision }: DecidedRequest): void {
    if (matched.hasCandidates !== true) return;
    for (let i = 0; i < matched.matches.length; i += 1) {
      const match = matched.matches[i];
      const status = decision.statuses[i];
      if (match?.stage === undefined || match.block !== undefined || status?.currentLimit === undefined) continue;
      const hits = request.descriptors[i]?.hits ?? request.hits;
      if (hits > 0) this.add(match.stage, { hits, over: status.fits ? 0 : hits });
    }
  }

  /** Counts what is pending, and judges. It never rejects. */
  async flush(): Promise<void> {
    const batch = [...this.pending];
    this.pending.clear();
    await Promise.all(batch.map(([stage, pending]) => this.count(stage, pending)));
  }

  private add({ stage, values, part }: StageInForce, { hits, over }: HitCounts): void {
    let pending = this.pending.get(stage);
    if (pending?.values.version !== values.version) {
      if (pending === undefined && this.pending.size >= PENDING_MAX) return;
      // Hits of an earlier stage say nothing of this one.
      this.pending.set(stage, (pending = { values, hits: [0, 0, 0, 0] }));
    }
    pending.values = values;
    const at = part === 'candidate' ? 0 : 2;
    pending.hits[at] += hits;
    if (at === 0) pending.hits[1] += over;
    else pending.hits[3] += over;
  }

  private async count(stage: Stage, { values, hits: [hits, over, currentHits, currentOver] }: Pending): Promise<void> {
    const name = { domain: toText(stage.domain), rule: stage.name };
    const { version, stopIf, percent } = values;
    try {
      const counts = { candidate: { hits, over }, current: { hits: currentHits, over: currentOver } };
      const all = await this.parts.counter.add({ ...name, version, widthS: widthOf(stopIf?.forS), counts });
      const measured = stopIf && percent > 0 && all?.version === version ? measure(all, stopIf) : undefined;
      if (stopIf === undefined || measured === undefined || !isBreach(measured, stopIf)) return;
      await this.parts.stop({ ...name, stage, values, stopIf, measured });
    } catch (error) {
      this.parts.onError(error);
    }
  }
}

/** The hits of the stage over the time of the guard; undefined: the stage is younger. */
export function measure({ nowUs, sinceUs, slots }: RolloutCounts, { forS }: StopIf): HitCounts | undefined {
  const fromUs = nowUs - forS * US_PER_S;
  if (sinceUs > fromUs) return undefined;
  let { hits, over } = NO_COUNTS.candidate;
  for (const { startUs, counts } of slots) {
    if (startUs < fromUs) continue;
    hits += counts.candidate.hits;
    over += counts.candidate.over;
  }
  return { hits, over };
}

export function isBreach({ hits, over }: HitCounts, { deniedAbove }: StopIf): boolean {
  return hits >= JUDGED_HITS_MIN && over / hits > deniedAbove;
}
