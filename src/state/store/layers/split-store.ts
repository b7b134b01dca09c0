/**
 * A store over one that decides a group only in parts (the slots of a Redis Cluster, two Redis servers): it makes a group
 * in several parts all or nothing, as far as possible without a lock. docs/internals/store.md describes the limits of that.
 */

import { isUsageReport, type Group, type GroupVerdict, type OutsideWindows, type Adjustment, type Take } from '../../../domain/bucket/take';
import {
  groupOfPart,
  mayDeny,
  partsBy,
  hitsOfStep,
  partsOfStep,
  positiveHits,
  adjustmentsOf,
  together,
  wholeOf,
  type DecidedPart,
  type Part,
  type Step,
} from './group-parts';
import type { GroupOutcome, AdjustOutcome, Store, TakeOptions } from '../port/store';
import { isMoving, StoreError, storeErrorOf } from '../port/store-error';
import type { StoreTrace } from '../port/store-trace';
import { TimeLeft, within } from '../port/time-left';

export interface SplitStoreOptions {
  /** The part of a take; all takes on one bucket must have the same part. */
  readonly partOf: (take: Take) => string | number;
  /** Deadline of a group in several parts, for all steps together, in milliseconds; less if the caller has less time left. */
  readonly timeoutMs: number;
  /** Reports hits that stay, or may stay, charged although they should have been given back or refunded, and hits of usage reports that may not be charged. */
  readonly onHitsLost: (hits: number) => void;
  /** Reports buckets that got, or may have got, hits back. */
  readonly onGivenBack: (adjustments: readonly Adjustment[]) => void;
}

export class SplitStore implements Store {
  constructor(
    private readonly store: Store,
    private readonly options: SplitStoreOptions,
  ) {}

  async take(groups: readonly Group[], options: TakeOptions = {}): Promise<readonly GroupOutcome[]> {
    if (groups.every((group) => this.isOfOnePart(group))) return this.takeWhole(groups, options);
    const outcomes: GroupOutcome[] = [];
    // In order: each group is decided on the state that the previous one left.
    for (const group of groups) outcomes.push(await this.takeOne(group, options).catch(storeErrorOf));
    return outcomes;
  }

  adjust(adjustments: readonly Adjustment[], options?: TakeOptions): Promise<readonly AdjustOutcome[]> {
    return this.store.adjust(adjustments, options);
  }

  close(): Promise<void> {
    return this.store.close();
  }

  private isOfOnePart({ takes }: Group): boolean {
    const [first] = takes;
    if (first === undefined || takes.length === 1) return true;
    const part = this.options.partOf(first);
    return takes.every((take) => this.options.partOf(take) === part);
  }

  /** Takes groups of one part each, which the store decides all or nothing, unless a moving slot has split one. */
  private async takeWhole(groups: readonly Group[], options: TakeOptions): Promise<readonly GroupOutcome[]> {
    const outcomes = await this.store.take(groups, options).catch((error: unknown) => {
      if (!isMoving(error)) throw error;
      return groups.map(() => storeErrorOf(error));
    });
    if (!outcomes.some(isMoving)) return outcomes;
    const again = groups.map(async (group, i): Promise<GroupOutcome[]> => {
      const outcome = outcomes[i];
      if (outcome === undefined) return [];
      if (!isMoving(outcome)) return [outcome];
      return [await this.takeInParts({ group, parts: byBucket(wholeOf(group)), options }).catch(storeErrorOf)];
    });
    return (await Promise.all(again)).flat();
  }

  private async takeOne(group: Group, options: TakeOptions): Promise<GroupOutcome> {
    if (!this.isOfOnePart(group)) return this.takeInParts({ group, parts: partsBy(wholeOf(group), this.options.partOf), options });
    const [outcome] = await this.takeWhole([group], options);
    return outcome ?? new StoreError('the store returned an invalid reply', 'script');
  }

  /**
   * Asks every part whether its takes fit, all at once, and then charges every part, all at once. Meanwhile another
   * request may have used the room, or a part may fail: then the charges of the other parts are given back.
   */
  private async takeInParts({ group, parts, options }: TakeInPartsInput): Promise<GroupOutcome> {
    const { trace } = options;
    const timeLeft = new TimeLeft(Math.min(this.options.timeoutMs, options.timeoutMs ?? Infinity));
    const asked = group.dry === true || mayDeny(group) ? await this.step({ group, parts, step: 'ask', timeLeft, trace }) : undefined;
    if (asked?.problem !== undefined) return asked.problem;
    const would = asked && together(group, asked.decided);
    if (would !== undefined && group.dry === true) return would;
    if (would?.overLimit === true)
      return this.applyAfter({ group, decided: asked?.decided ?? [], verdict: would, timeLeft, step: 'report' });

    // Last check: after charging, hits are given back even if that is late.
    timeLeft.ms();
    const charged = await this.step({ group, parts: asked?.decided.map(({ part }) => part) ?? parts, step: 'charge', timeLeft, trace });
    const verdict = charged.problem ?? together(group, charged.decided);
    if ('verdicts' in verdict && !verdict.overLimit)
      return this.applyAfter({ group, decided: charged.decided, verdict, timeLeft, step: 'refund' });
    await inTime(this.giveBack(charged), timeLeft);
    if (!('verdicts' in verdict) || would === undefined) return verdict;
    // Takes that were charged and given back are shown with their earlier verdict.
    const shown = { ...verdict, verdicts: verdict.verdicts.map((own, i) => (own.fits ? (would.verdicts[i] ?? own) : own)) };
    return this.applyAfter({ group, decided: charged.decided, verdict: shown, timeLeft, step: 'refundReports' });
  }

  /** Sends a step to all parts at once. A part that a moving slot has split is sent again, bucket by bucket. */
  private async step({ group, parts, step, timeLeft, trace }: StepInput): Promise<StepAnswer> {
    const outcomes = await this.takeGroups(
      parts.map((part) => groupOfPart(part, { shadow: group.shadow, step })),
      { timeLeft, trace },
    );
    const answers = parts.map(async (part, i): Promise<StepAnswer> => {
      const outcome = outcomes[i] ?? new StoreError('the store returned an invalid reply', 'script');
      if ('verdicts' in outcome) return { decided: [{ part, verdict: outcome }], failed: [] };
      const finer = isMoving(outcome) ? byBucket(part) : [];
      if (finer.length > 1) return this.step({ group, parts: finer, step, timeLeft, trace });
      return { decided: [], problem: outcome, failed: [{ part, problem: outcome }] };
    });
    return (await Promise.all(answers)).reduce((all, answer) => {
      const problem = all.problem instanceof StoreError ? all.problem : (answer.problem ?? all.problem);
      return { decided: [...all.decided, ...answer.decided], failed: [...all.failed, ...answer.failed], ...(problem && { problem }) };
    });
  }

  private async takeGroups(groups: readonly Group[], { timeLeft, trace }: TakeGroupsInput): Promise<readonly GroupOutcome[]> {
    try {
      return await this.store.take(groups, { timeoutMs: timeLeft.ms(), trace });
    } catch (error) {
      const failure = storeErrorOf(error);
      return groups.map(() => failure);
    }
  }

  /** Gives charged hits back. Never rejects. Reports hits that cannot be given back, or may be charged. */
  private async giveBack({ decided, failed }: StepAnswer): Promise<void> {
    const unknown = failed.filter(({ problem }) => problem instanceof StoreError && problem.mayHaveRun);
    const unknownHits = positiveHits(unknown.flatMap(({ part }) => part.takes));
    const adjustments = decided.flatMap(adjustmentsOf);
    const chargedHits = -adjustments.reduce((sum, { hits }) => sum + hits, 0);
    let given = 0;
    if (adjustments.length > 0) {
      const applied = await this.store.adjust(adjustments, { timeoutMs: this.options.timeoutMs }).catch(() => []);
      given = applied.reduce<number>((sum, hits) => sum + (hits instanceof StoreError ? 0 : Math.max(0, hits)), 0);
      this.options.onGivenBack(adjustments);
    }
    const lost = unknownHits + chargedHits - given;
    if (lost > 0) this.options.onHitsLost(lost);
  }

  /**
   * Applies what follows the decision: refunds of an admitted request, usage reports of a denied one. The verdict does not
   * depend on the outcome.
   */
  private async applyAfter({ group, decided, verdict, timeLeft, step }: ApplyAfterInput): Promise<GroupVerdict> {
    const parts = partsOfStep(
      decided.map(({ part }) => part),
      step,
    );
    if (parts.length === 0) return verdict;
    const applying = this.step({ group, parts, step, timeLeft: new TimeLeft(this.options.timeoutMs) }).then((answer) => {
      const lost = hitsOfStep(
        answer.failed.map(({ part }) => part),
        step,
      );
      if (lost > 0) this.options.onHitsLost(lost);
      return answer;
    });
    const applied = await inTime(applying, timeLeft);
    const verdicts = [...verdict.verdicts];
    for (const { part, verdict: after } of applied?.decided ?? []) {
      for (const [i, take] of part.takes.entries()) {
        const [before, now] = [verdicts[take.place], after.verdicts[i]];
        if (!before || !now) continue;
        // A report shows the state after it; another take keeps its verdict from before.
        if (step === 'report' && isUsageReport(take) && take.hits > 0) verdicts[take.place] = now;
        else verdicts[take.place] = { ...before, remaining: now.remaining, resetAfterUs: now.resetAfterUs };
      }
    }
    return { ...verdict, verdicts };
  }
}

interface TakeInPartsInput {
  readonly group: Group;
  readonly parts: readonly Part[];
  readonly options: TakeOptions;
}

interface TakeGroupsInput {
  readonly timeLeft: TimeLeft;
  /** Absent: the request is not sampled, or the step follows its answer. */
  readonly trace?: StoreTrace | undefined;
}

interface StepInput extends TakeGroupsInput {
  readonly group: Group;
  readonly parts: readonly Part[];
  readonly step: Step;
}

type Problem = StoreError | OutsideWindows;

interface StepAnswer {
  readonly decided: readonly DecidedPart[];
  readonly failed: readonly { readonly part: Part; readonly problem: Problem }[];
  /** A failure of a part; a store error takes precedence over other windows. */
  readonly problem?: Problem;
}

interface ApplyAfterInput {
  readonly group: Group;
  readonly decided: readonly DecidedPart[];
  readonly verdict: GroupVerdict;
  readonly timeLeft: TimeLeft;
  readonly step: Exclude<Step, 'ask' | 'charge'>;
}

function byBucket(part: Part): Part[] {
  return partsBy(part, ({ bucketKey }) => bucketKey);
}

/** The result, or undefined when the caller cannot wait any longer; the promise continues. */
async function inTime<T>(promise: Promise<T>, timeLeft: TimeLeft): Promise<T | undefined> {
  try {
    return await within(promise, timeLeft.ms());
  } catch {
    return undefined;
  }
}
