/** Groups as the arguments of `lua/take.lua`, and its reply as outcomes. The contract is at the head of that file. */

import type { BucketLimit, Group, GroupVerdict, Mode, Verdict } from '../bucket/take';
import { unfold, type FoundState } from '../engine/unfold';
import { foldGroups, type Fold } from './fold';
import { ALGORITHM_CODES, pushLimit, ReplyNumbers, type ScriptArguments } from './script-wire';
import { StoreError, type GroupOutcome } from './store';

const MODE_CODES: Readonly<Record<Mode, string>> = { enforced: '0', quota: '1', shadow: '2' };
const FLAG_SHADOW = 1;
const FLAG_QUOTA_ALWAYS_FITS = 2;
const FLAG_DRY = 4;
const GROUP_DENIED = 0;
const GROUP_UNREADABLE = -1;
const GROUP_OUTSIDE_WINDOWS = -2;
const GROUP_FAILED = -3;
const TAKE_FITS = 1;

export interface EncodedTakes extends ScriptArguments {
  /** As they are asked for. */
  readonly folds: readonly Fold[];
}

export function encodeTakes(groups: readonly Group[]): EncodedTakes {
  const folds = foldGroups(groups);
  const shapes = new Shapes();
  const keys: string[] = [];
  const runs: Run[] = [];
  let run: Run | undefined;
  for (const { group, places } of folds) {
    for (const { bucketKey } of group.takes) keys.push(bucketKey);
    // Most have the shape of the one before.
    if (run?.times === places.length && isSameShape(run.group, group)) {
      run.count += 1;
      continue;
    }
    run = { group, shape: shapes.numberOf(group), count: 1, times: places.length };
    runs.push(run);
  }
  const args = shapes.args;
  for (const { shape, count, times } of runs) args.push(String(shape), String(count), String(times));
  return { keys, args, folds };
}

/** Groups of one shape in a row. */
interface Run {
  readonly group: Group;
  readonly shape: number;
  readonly times: number;
  count: number;
}

/** What the groups of one command have in common but for their buckets, each once. */
class Shapes {
  private readonly ofLimit = new Map<BucketLimit | undefined, { readonly group: Group; readonly number: number }[]>();
  private readonly shapeArgs: string[] = [];
  private count = 0;

  /** How many there are, and what each is. */
  get args(): string[] {
    return [String(this.count), ...this.shapeArgs];
  }

  numberOf(group: Group): number {
    const limit = group.takes[0]?.limit;
    const others = this.ofLimit.get(limit) ?? [];
    const same = others.find((other) => isSameShape(other.group, group));
    if (same !== undefined) return same.number;
    this.count += 1;
    this.ofLimit.set(limit, [...others, { group, number: this.count }]);
    pushShape(this.shapeArgs, group);
    return this.count;
  }
}

function isSameShape(a: Group, b: Group): boolean {
  if (a === b) return true;
  if (a.takes.length !== b.takes.length || a.shadow !== b.shadow || a.quotaAlwaysFits !== b.quotaAlwaysFits || a.dry !== b.dry) return false;
  for (const [i, take] of a.takes.entries()) {
    const other = b.takes[i];
    if (take.limit !== other?.limit || take.hits !== other.hits || take.mode !== other.mode || take.descriptor !== other.descriptor) {
      return false;
    }
  }
  return true;
}

function pushShape(args: string[], { takes, shadow, quotaAlwaysFits, dry }: Group): void {
  const flags = (shadow ? FLAG_SHADOW : 0) + (quotaAlwaysFits ? FLAG_QUOTA_ALWAYS_FITS : 0) + (dry === true ? FLAG_DRY : 0);
  args.push(String(flags), String(takes.length));
  for (const { limit, mode, descriptor, hits } of takes) {
    args.push(ALGORITHM_CODES[limit.algorithm], MODE_CODES[mode], String(descriptor), String(hits));
    pushLimit(args, limit);
  }
}

/**
 * The outcomes in the order of the groups that were asked for.
 *
 * @throws StoreError if the reply is not what the script answers
 */
export function decodeReply(reply: unknown, folds: readonly Fold[]): readonly GroupOutcome[] {
  const numbers = new ReplyNumbers(reply);
  const nowUs = numbers.next();
  const outcomes: GroupOutcome[] = [];
  for (const { group, places } of folds) {
    const code = numbers.next();
    if (code < GROUP_DENIED) {
      for (const place of places) outcomes[place] = undecided(code, nowUs);
    } else if (places.length === 1) {
      outcomes[places[0] ?? 0] = readVerdict({ group, numbers, overLimit: code === GROUP_DENIED, nowUs });
    } else {
      const found = group.takes.map((): FoundState => [numbers.next(), numbers.next()]);
      const verdicts = unfold({ group, times: places.length, allowed: code, found, nowUs });
      for (const [i, verdict] of verdicts.entries()) outcomes[places[i] ?? 0] = verdict;
    }
  }
  return outcomes;
}

function undecided(code: number, nowUs: number): GroupOutcome {
  switch (code) {
    case GROUP_UNREADABLE:
      return new StoreError('the store holds something that is no bucket under the key of one', 'script');
    case GROUP_OUTSIDE_WINDOWS:
      return { outsideAtUs: nowUs };
    case GROUP_FAILED:
      return new StoreError('the store holds numbers of a bucket that no decision can be made on', 'script', { mayHaveRun: false });
    default:
      throw new StoreError('the store answered something that is no verdict', 'script');
  }
}

function readVerdict({ group, numbers, overLimit, nowUs }: ReadVerdictInput): GroupVerdict {
  const verdicts: Verdict[] = [];
  for (let left = group.takes.length; left > 0; left -= 1) {
    verdicts.push({ fits: numbers.next() === TAKE_FITS, remaining: numbers.next(), retryAfterUs: numbers.next(), resetAfterUs: numbers.next() });
  }
  return { overLimit, verdicts, nowUs };
}

interface ReadVerdictInput {
  readonly group: Group;
  readonly numbers: ReplyNumbers;
  readonly overLimit: boolean;
  readonly nowUs: number;
}
