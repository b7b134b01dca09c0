/** Groups as the arguments of `lua/take.lua`, and its reply as outcomes. The contract is at the head of that file. */

import { TRAITS } from '../../../domain/algorithm/algorithms';
import {
  namesBucketTwice,
  roomMaxOf,
  type BucketLimit,
  type Group,
  type GroupVerdict,
  type OpenVerdict,
  type Take,
  type Verdict,
} from '../../../domain/bucket/take';
import { markDenials } from '../../../domain/decide/denial-rule';
import { unfold, type FoundState } from '../../../domain/decide/unfold';
import type { Mode } from '../../../domain/rule/mode';
import { foldGroups, type Fold } from '../../../domain/decide/fold';
import { pushLimit, TIME_US_MAX, USED_MAX, WAIT_US_MAX, type ScriptArguments } from './script-wire';
import { ReplyNumbers } from './client/read-reply';
import type { GroupOutcome } from '../port/store';
import { ReplyError } from './client/reply-error';
import { BucketError, StoreError } from '../port/store-error';

const MODE_CODES: Readonly<Record<Mode, number>> = { enforced: 0, quota: 1, shadow: 2 };
/** Added to the code of the mode. */
const USAGE_REPORT = 3;
const PEEK = 6;
const NAMES_SLOT = 12;
const FLAG_SHADOW = 1;
const FLAG_QUOTA_ALWAYS_FITS = 2;
const FLAG_DRY = 4;
const GROUP_UNREADABLE = -1;
const GROUP_OUTSIDE_WINDOWS = -2;
const GROUP_FAILED = -3;
const NOTHING_REMAINS = -1;
/** The largest number that a reply has as a number (`in_reply` in `lua/include/numbers.lua`). */
const PLAIN_CAPACITY_MAX = 9_007_199_254_740_944;
/** The first argument, unless all groups are plain: then it is the number of groups of the first run. */
const NOT_PLAIN = '0';
export const GROUP_DENIED = -4;
export const GROUP_ALLOWED = -5;
/** In place of a time to retry after. */
export const TAKE_FITS = -2;

export interface EncodedTakes extends ScriptArguments {
  /** In the order in which the script decides them; undefined: nothing is folded, each group is decided by itself, in their order. */
  readonly folds: readonly Fold[] | undefined;
}

export function encodeTakes(groups: readonly Group[]): EncodedTakes {
  const folds = foldGroups(groups);
  const arePlain = folds === undefined ? groups.every(isPlain) : folds.every(({ group }) => isPlain(group));
  const asked = arePlain ? new PlainGroups() : new AskedGroups();
  if (folds === undefined) for (const group of groups) asked.add(group, 1);
  else for (const { group, places } of folds) asked.add(group, places.length);
  return { keys: asked.keys, args: asked.args(), folds };
}

/** Whether the script can decide the group the straight way: `lua/take.lua` says which those are. */
function isPlain(group: Group): boolean {
  const { takes, shadow, dry } = group;
  return !shadow && dry !== true && takes.length > 0 && takes.every(isPlainTake) && !namesBucketTwice(group);
}

function isPlainTake({ limit, mode, hits, overdraftMax, peek, slotId }: Take): boolean {
  const { algorithm, edgesUs, requestsPerUnit, capacity } = limit;
  if (mode !== 'enforced' || hits <= 0 || overdraftMax !== undefined || peek === true || slotId !== undefined) return false;
  // The rest of a larger one may have to be a text.
  if (edgesUs !== undefined || requestsPerUnit === 0 || capacity === 0 || capacity > PLAIN_CAPACITY_MAX) return false;
  return TRAITS[algorithm].isPlain;
}

/** A fixed window has fewer arguments than other plain takes. */
function isOfWindow({ algorithm }: BucketLimit): boolean {
  return TRAITS[algorithm].restores === 'at-window-end';
}

/** The groups of a command that are all plain. */
class PlainGroups {
  readonly keys: string[] = [];
  private readonly all: string[] = [];
  /** A group of each shape, and where the number of its arguments stands, from 1 on as the script counts. */
  private readonly shapes: Group[] = [];
  private readonly shapesAt: number[] = [];
  private lastShape: Group | undefined;
  /** Groups of the last run, and where their number stands; 0: the last run is a fold, or there is none. */
  private runGroups = 0;
  private runAt = 0;

  add(group: Group, times: number): void {
    for (const { bucketKey } of group.takes) this.keys.push(bucketKey);
    if (times === 1 && this.runGroups > 0 && isSameShape(this.lastShape, group)) {
      this.runGroups += 1;
      this.all[this.runAt] = String(this.runGroups);
      return;
    }
    this.runGroups = times === 1 ? 1 : 0;
    this.runAt = this.all.length;
    this.lastShape = group;
    this.all.push(times === 1 ? '1' : String(-times));
    this.pushShape(group);
  }

  args(): string[] {
    return this.all;
  }

  private pushShape(group: Group): void {
    const { all, shapes, shapesAt } = this;
    const known = shapes.findIndex((shape) => isSameShape(shape, group));
    if (known >= 0) {
      all.push('0', String(shapesAt[known]));
      return;
    }
    shapes.push(group);
    const countAt = all.length;
    shapesAt.push(countAt + 1);
    all.push('');
    for (const { limit, hits } of group.takes) {
      all.push(String(isOfWindow(limit) ? -hits : hits), String(limit.windowUs), String(limit.capacity));
      if (!isOfWindow(limit)) all.push(String(limit.requestsPerUnit));
    }
    all[countAt] = String(all.length - countAt - 1);
  }
}

/** The groups of one command. Everything that a group asks for, except its buckets, is a shape and is written once; consecutive groups of one shape are a run. */
class AskedGroups {
  readonly keys: string[] = [];
  /** A group of each; it is known by its place, from 1 on. */
  private readonly shapes: Group[] = [];
  private readonly shapeArgs: string[] = [NOT_PLAIN, ''];
  /** Three numbers each (its shape, how many groups, and how often each of them comes), and the ids of the slots that its groups name. */
  private readonly runs: (number | string)[] = [];
  /** Groups of the last run, and where their number stands. */
  private runGroups = 0;
  private runGroupsAt = 0;
  private runShape = 1;
  private runTimes = 0;

  add(group: Group, times: number): void {
    let namesSlot = false;
    for (const { bucketKey, slotId } of group.takes) {
      this.keys.push(bucketKey);
      if (slotId !== undefined) namesSlot = true;
    }
    this.addToRun(group, times);
    if (namesSlot) for (const { slotId } of group.takes) if (slotId !== undefined) this.runs.push(slotId);
  }

  /** How many shapes there are, what each is, and the runs. */
  args(): string[] {
    const args = this.shapeArgs;
    args[1] = String(this.shapes.length);
    for (const part of this.runs) args.push(String(part));
    return args;
  }

  private addToRun(group: Group, times: number): void {
    const { runs } = this;
    const shape = this.shapeOf(group);
    if (shape === this.runShape && times === this.runTimes) {
      this.runGroups += 1;
      runs[this.runGroupsAt] = this.runGroups;
      return;
    }
    this.runGroups = 1;
    this.runGroupsAt = runs.length + 1;
    runs.push(shape, 1, times);
    this.runShape = shape;
    this.runTimes = times;
  }

  private shapeOf(group: Group): number {
    const { shapes, runShape } = this;
    // Most have the shape of the one before.
    if (isSameShape(shapes[runShape - 1], group)) return runShape;
    for (let shape = 1; shape <= shapes.length; shape += 1) if (isSameShape(shapes[shape - 1], group)) return shape;
    shapes.push(group);
    pushShape(this.shapeArgs, group);
    return shapes.length;
  }
}

function isSameShape(a: Group | undefined, b: Group): boolean {
  if (a === b) return true;
  if (a?.takes.length !== b.takes.length || a.shadow !== b.shadow || a.quotaAlwaysFits !== b.quotaAlwaysFits || a.dry !== b.dry)
    return false;
  for (let i = 0; i < b.takes.length; i += 1) {
    const take = a.takes[i];
    const other = b.takes[i];
    if (
      take?.limit !== other?.limit ||
      take?.hits !== other?.hits ||
      take?.mode !== other?.mode ||
      take?.descriptor !== other?.descriptor
    ) {
      return false;
    }
    if (take?.overdraftMax !== other?.overdraftMax || take?.peek !== other?.peek) return false;
    // Each group has ids of its own.
    if ((take?.slotId === undefined) !== (other?.slotId === undefined)) return false;
  }
  return true;
}

function pushShape(args: string[], { takes, shadow, quotaAlwaysFits, dry }: Group): void {
  const flags = (shadow ? FLAG_SHADOW : 0) + (quotaAlwaysFits ? FLAG_QUOTA_ALWAYS_FITS : 0) + (dry === true ? FLAG_DRY : 0);
  args.push(String(flags), String(takes.length));
  for (const { limit, mode, descriptor, hits, overdraftMax, peek, slotId } of takes) {
    const kind =
      MODE_CODES[mode] +
      (overdraftMax === undefined ? 0 : USAGE_REPORT) +
      (peek === true ? PEEK : 0) +
      (slotId === undefined ? 0 : NAMES_SLOT);
    args.push(TRAITS[limit.algorithm].scriptCode, String(kind), String(descriptor), String(hits));
    pushLimit(args, limit);
    if (overdraftMax !== undefined) args.push(String(overdraftMax));
  }
}

/**
 * The outcomes in the order of the groups that were asked for.
 *
 * @throws ReplyError if the reply is not what the script answers
 */
export function decodeReply(reply: unknown, { groups, folds }: AskedFor): readonly GroupOutcome[] {
  const numbers = new ReplyNumbers(reply);
  const nowUs = numbers.next(0, TIME_US_MAX);
  const outcomes = new Array<GroupOutcome>(groups.length);
  if (folds !== undefined) {
    for (const fold of folds) readFold({ fold, numbers, nowUs, outcomes });
  } else {
    let place = 0;
    for (const group of groups) {
      outcomes[place] = readOutcome(group, numbers, nowUs);
      place += 1;
    }
  }
  numbers.end();
  return outcomes;
}

/**
 * Reads the answer of the script on one group, and nothing else.
 *
 * @throws StoreError if it decided nothing; ReplyError if it is not an answer
 */
export function readAnswer(reply: readonly unknown[], group: Group, nowUs: number): GroupVerdict {
  const numbers = new ReplyNumbers(reply);
  const outcome = readOutcome(group, numbers, nowUs);
  numbers.end();
  if (outcome instanceof StoreError) throw outcome;
  if (!('verdicts' in outcome)) throw new ReplyError('it is not a decision on a group');
  return outcome;
}

interface AskedFor extends Pick<EncodedTakes, 'folds'> {
  readonly groups: readonly Group[];
}

function readOutcome(group: Group, numbers: ReplyNumbers, nowUs: number): GroupOutcome {
  const first = numbers.next(GROUP_ALLOWED, roomMaxOfFirst(group));
  if (first >= 0) return readAllFit({ group, remaining: first, numbers, nowUs });
  if (first === GROUP_DENIED || first === GROUP_ALLOWED) return readVerdicts({ group, numbers, overLimit: first === GROUP_DENIED, nowUs });
  return undecided(first, group, nowUs);
}

/** The outcomes of one fold, each to its place. */
function readFold({ fold: { group, places }, numbers, nowUs, outcomes }: ReadFoldInput): void {
  if (places.length === 1) {
    outcomes[places[0] ?? 0] = readOutcome(group, numbers, nowUs);
    return;
  }
  const allowed = numbers.next(GROUP_FAILED, places.length);
  if (allowed < 0) {
    for (const place of places) outcomes[place] = undecided(allowed, group, nowUs);
    return;
  }
  const found = group.takes.map(({ limit }): FoundState => [
    numbers.next(0, USED_MAX),
    numbers.next(0, TRAITS[limit.algorithm].secondNumberMax(limit.windowUs)),
  ]);
  const verdicts = unfold({ group, times: places.length, allowed, found, nowUs });
  for (const [i, verdict] of verdicts.entries()) outcomes[places[i] ?? 0] = verdict;
}

interface ReadFoldInput {
  readonly fold: Fold;
  readonly numbers: ReplyNumbers;
  readonly nowUs: number;
  readonly outcomes: GroupOutcome[];
}

function undecided(code: number, group: Group, nowUs: number): GroupOutcome {
  switch (code) {
    case GROUP_UNREADABLE:
      return new BucketError('the key of a bucket holds a value that Weir did not write', keysOf(group));
    case GROUP_OUTSIDE_WINDOWS:
      return { outsideAtUs: nowUs };
    case GROUP_FAILED:
      return new BucketError('the stored numbers of a bucket are out of range', keysOf(group));
    default:
      throw new ReplyError(`it has ${code} where a decision on a group begins`);
  }
}

/** Nothing remains of a group without takes. */
function roomMaxOfFirst({ takes: [first] }: Group): number {
  return first === undefined ? NOTHING_REMAINS : roomMaxOf(first.limit);
}

function roomMaxAt({ takes }: Group, place: number): number {
  const take = takes[place];
  return take === undefined ? 0 : roomMaxOf(take.limit);
}

/** Each once. */
function keysOf({ takes }: Group): readonly string[] {
  return [...new Set(takes.map(({ bucketKey }) => bucketKey))];
}

/** The verdict on a group whose takes all fit. Its first number, `remaining`, has been read already. */
function readAllFit({ group, remaining, numbers, nowUs }: ReadAllFitInput): GroupVerdict {
  const verdicts = new Array<Verdict>(group.takes.length);
  let room = remaining;
  for (let i = 0; i < verdicts.length; i += 1) {
    if (i > 0) room = numbers.next(0, roomMaxAt(group, i));
    verdicts[i] = { fits: true, remaining: room, retryAfterUs: 0, resetAfterUs: numbers.next(0, WAIT_US_MAX) };
  }
  return { overLimit: false, verdicts, nowUs };
}

interface ReadAllFitInput {
  readonly group: Group;
  readonly remaining: number;
  readonly numbers: ReplyNumbers;
  readonly nowUs: number;
}

function readVerdicts({ group, numbers, overLimit, nowUs }: ReadVerdictsInput): GroupVerdict {
  const verdicts = new Array<OpenVerdict>(group.takes.length);
  for (let i = 0; i < verdicts.length; i += 1) {
    const take = group.takes[i];
    const room = numbers.next(-USED_MAX, roomMaxAt(group, i));
    const resetAfterUs = numbers.next(0, WAIT_US_MAX);
    const retryAfterUs = numbers.next(TAKE_FITS, WAIT_US_MAX);
    const cut = take?.overdraftMax === undefined ? 0 : numbers.next(0, Math.max(0, take.hits));
    const fits = retryAfterUs === TAKE_FITS;
    const verdict: OpenVerdict = {
      fits,
      remaining: Math.max(0, room),
      retryAfterUs: fits ? 0 : retryAfterUs,
      resetAfterUs,
    };
    if (room < 0) verdict.debt = -room;
    if (cut > 0) verdict.cut = cut;
    verdicts[i] = verdict;
  }
  markDenials(group, verdicts);
  return { overLimit, verdicts, nowUs };
}

interface ReadVerdictsInput {
  readonly group: Group;
  readonly numbers: ReplyNumbers;
  readonly overLimit: boolean;
  readonly nowUs: number;
}
