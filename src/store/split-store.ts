/**
 * A store over one that decides a group only in parts (the slots of a Redis Cluster, two Redis servers): it makes a group
 * in several parts all or nothing, as far as that goes without a lock. docs/architecture.md says how far.
 */

import { isUsageReport, type Group, type GroupVerdict, type OutsideWindows, type Settlement, type Take } from '../bucket/take';
import { storeErrorOf } from './ask-by-part';
import { groupOfPart, mayDeny, partsBy, hitsOfStep, partsOfStep, positiveHits, settlementsOf, together, wholeOf, type DecidedPart, type Part, type Step } from './group-parts';
import { TryAgainError } from './redirect-error';
import { StoreError, type GroupOutcome, type SettleOutcome, type Store, type TakeOptions } from './store';
import { TimeLeft, within } from './time-left';

export interface SplitStoreOptions {
  /** Names the part that a take belongs to; takes on one bucket are of one part. */
  readonly partOf: (take: Take) => string | number;
  /** Longest a group in several parts may take, all its steps together, in milliseconds; a caller with less left gets less. */
  readonly timeoutMs: number;
  /** Called with hits that stay charged, or may, though they were to be given back or refunded; and with those of a usage report that may not be charged. */
  readonly onHitsLost: (hits: number) => void;
  /** Told of buckets that hits were given back to, or may have been. */
  readonly onGivenBack: (settlements: readonly Settlement[]) => void;
}

export class SplitStore implements Store {
  constructor(
    private readonly store: Store,
    private readonly options: SplitStoreOptions,
  ) {}

  async take(groups: readonly Group[], options: TakeOptions = {}): Promise<readonly GroupOutcome[]> {
    if (groups.every((group) => this.isOfOnePart(group))) return this.takeWhole(groups, options);
    const outcomes: GroupOutcome[] = [];
    // In their order: each group is decided on what the last one left.
    for (const group of groups) outcomes.push(await this.takeOne(group, options).catch(storeErrorOf));
    return outcomes;
  }

  settle(settlements: readonly Settlement[], options?: TakeOptions): Promise<readonly SettleOutcome[]> {
    return this.store.settle(settlements, options);
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

  /** Groups of one part each, which the store makes all or nothing; but a slot that moves may have torn one apart. */
  private async takeWhole(groups: readonly Group[], options: TakeOptions): Promise<readonly GroupOutcome[]> {
    const outcomes = await this.store.take(groups, options).catch((error: unknown) => {
      if (error instanceof TryAgainError) return groups.map(() => error);
      throw error;
    });
    if (!outcomes.some((outcome) => outcome instanceof TryAgainError)) return outcomes;
    const again = groups.map(async (group, i): Promise<GroupOutcome[]> => {
      const outcome = outcomes[i];
      if (outcome === undefined) return [];
      if (!(outcome instanceof TryAgainError)) return [outcome];
      return [await this.takeInParts({ group, parts: byBucket(wholeOf(group)), options }).catch(storeErrorOf)];
    });
    return (await Promise.all(again)).flat();
  }

  private async takeOne(group: Group, options: TakeOptions): Promise<GroupOutcome> {
    if (!this.isOfOnePart(group)) return this.takeInParts({ group, parts: partsBy(wholeOf(group), this.options.partOf), options });
    const [outcome] = await this.takeWhole([group], options);
    return outcome ?? new StoreError('the store answered something that is no verdict', 'script');
  }

  /**
   * Every part is asked whether its takes fit, all at once; then every part takes, all at once. In between another
   * request may have taken the room, or a part may fail: then what the others have charged is given back.
   */
  private async takeInParts({ group, parts, options }: TakeInPartsInput): Promise<GroupOutcome> {
    const timeLeft = new TimeLeft(Math.min(this.options.timeoutMs, options.timeoutMs ?? Infinity));
    const asked = group.dry === true || mayDeny(group) ? await this.step({ group, parts, step: 'ask', timeLeft }) : undefined;
    if (asked?.problem !== undefined) return asked.problem;
    const would = asked && together(group, asked.decided);
    if (would !== undefined && group.dry === true) return would;
    if (would?.overLimit === true) return this.applyAfter({ group, decided: asked?.decided ?? [], verdict: would, timeLeft, step: 'report' });

    // Now or never: what has been charged is given back even when it is late.
    timeLeft.check();
    const charged = await this.step({ group, parts: asked?.decided.map(({ part }) => part) ?? parts, step: 'charge', timeLeft });
    const verdict = charged.problem ?? together(group, charged.decided);
    if ('verdicts' in verdict && !verdict.overLimit) return this.applyAfter({ group, decided: charged.decided, verdict, timeLeft, step: 'refund' });
    await inTime(this.giveBack(charged), timeLeft);
    if (!('verdicts' in verdict) || would === undefined) return verdict;
    // What was charged and given back is shown as it had been.
    const shown = { ...verdict, verdicts: verdict.verdicts.map((own, i) => (own.fits ? (would.verdicts[i] ?? own) : own)) };
    return this.applyAfter({ group, decided: charged.decided, verdict: shown, timeLeft, step: 'refundReports' });
  }

  /** All parts at once. One that a moving slot has torn apart is asked again, bucket by bucket. */
  private async step({ group, parts, step, timeLeft }: StepInput): Promise<StepAnswer> {
    const outcomes = await this.takeGroups(parts.map((part) => groupOfPart(part, { shadow: group.shadow, step })), timeLeft);
    const answers = parts.map(async (part, i): Promise<StepAnswer> => {
      const outcome = outcomes[i] ?? new StoreError('the store answered something that is no verdict', 'script');
      if ('verdicts' in outcome) return { decided: [{ part, verdict: outcome }], failed: [] };
      const finer = outcome instanceof TryAgainError ? byBucket(part) : [];
      if (finer.length > 1) return this.step({ group, parts: finer, step, timeLeft });
      return { decided: [], problem: outcome, failed: [{ part, problem: outcome }] };
    });
    return (await Promise.all(answers)).reduce((all, answer) => {
      const problem = all.problem instanceof StoreError ? all.problem : (answer.problem ?? all.problem);
      return { decided: [...all.decided, ...answer.decided], failed: [...all.failed, ...answer.failed], ...(problem && { problem }) };
    });
  }

  private async takeGroups(groups: readonly Group[], timeLeft: TimeLeft): Promise<readonly GroupOutcome[]> {
    try {
      return await this.store.take(groups, { timeoutMs: timeLeft.ms() });
    } catch (error) {
      const failure = storeErrorOf(error);
      return groups.map(() => failure);
    }
  }

  /** Never rejects. What can't be given back, or is charged for all anyone knows, is told. */
  private async giveBack({ decided, failed }: StepAnswer): Promise<void> {
    const unknown = failed.filter(({ problem }) => problem instanceof StoreError && problem.mayHaveRun);
    const unknownHits = positiveHits(unknown.flatMap(({ part }) => part.takes));
    const settlements = decided.flatMap(settlementsOf);
    const chargedHits = -settlements.reduce((sum, { hits }) => sum + hits, 0);
    let given = 0;
    if (settlements.length > 0) {
      const applied = await this.store.settle(settlements, { timeoutMs: this.options.timeoutMs }).catch(() => []);
      given = applied.reduce<number>((sum, hits) => sum + (hits instanceof StoreError ? 0 : Math.max(0, hits)), 0);
      this.options.onGivenBack(settlements);
    }
    const lost = unknownHits + chargedHits - given;
    if (lost > 0) this.options.onHitsLost(lost);
  }

  /**
   * What comes after the decision: refunds of an admitted request, usage reports of a denied one. The answer is the same
   * whatever becomes of them.
   */
  private async applyAfter({ group, decided, verdict, timeLeft, step }: ApplyAfterInput): Promise<GroupVerdict> {
    const parts = partsOfStep(decided.map(({ part }) => part), step);
    if (parts.length === 0) return verdict;
    const applying = this.step({ group, parts, step, timeLeft: new TimeLeft(this.options.timeoutMs) }).then((answer) => {
      const lost = hitsOfStep(answer.failed.map(({ part }) => part), step);
      if (lost > 0) this.options.onHitsLost(lost);
      return answer;
    });
    const applied = await inTime(applying, timeLeft);
    const verdicts = [...verdict.verdicts];
    for (const { part, verdict: after } of applied?.decided ?? []) {
      for (const [i, take] of part.takes.entries()) {
        const [before, now] = [verdicts[take.place], after.verdicts[i]];
        if (!before || !now) continue;
        // A report is answered by what it has left, another take by whether it fitted before.
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

interface StepInput {
  readonly group: Group;
  readonly parts: readonly Part[];
  readonly step: Step;
  readonly timeLeft: TimeLeft;
}

type Problem = StoreError | OutsideWindows;

interface StepAnswer {
  readonly decided: readonly DecidedPart[];
  readonly failed: readonly { readonly part: Part; readonly problem: Problem }[];
  /** Of those that failed, a failure rather than windows that are elsewhere. */
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

/** What it comes to, or undefined when the caller can't wait any longer: it goes on by itself. */
async function inTime<T>(promise: Promise<T>, timeLeft: TimeLeft): Promise<T | undefined> {
  try {
    return await within(promise, timeLeft.ms());
  } catch {
    return undefined;
  }
}
