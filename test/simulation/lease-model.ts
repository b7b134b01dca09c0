/** A model of leases in a fixed window, and an explorer of all of its histories: what the code has to do, and the mistakes it must not make. */

/** Hits of a window, and how long it is, in ticks of Redis's clock. */
const LIMIT = 3;
const WINDOW = 2;
const WINDOWS = 2;
/** Hits of one charge. */
const AHEAD = 2;
/** By how many ticks the clock of an instance may fall behind that of Redis while it holds a lease. */
const DRIFT = 1;
/** What one instance may do is enough: this one's clock drifts, and it crashes, and its requests have other limits. */
const DRIFTING = 0;
/** Charges that an instance sends in one history, and hits on their way back at a time. */
const CHARGES = [2, 1];
const RETURNING_MAX = 1;

/** Each is one rule of leases left out. */
export type Mistake =
  | 'uses a lease past the end of its window'
  | 'leaves no margin for drift'
  | 'spends a charge whose reply is lost'
  | 'counts a repeated reply twice'
  | 'gives back again after a lost reply'
  | 'gives back hits that were used'
  | 'goes on using hits that it gave back'
  | 'puts a held hit back into the lease of another window'
  | 'gives hits of a window back to the next one';

interface Instance {
  /** Hits left, and the window that they were charged in. */
  readonly left: number;
  readonly window: number;
  /** Upper bound of Redis's time, less the drift: its time in the reply, and the ticks of this instance's clock since the call. */
  readonly seen: number;
  /** Ticks that its clock has missed since then. */
  readonly missed: number;
  /** A hit taken from the lease by a request whose other limits Redis decides, and its window. */
  readonly held: number | undefined;
  readonly charges: number;
  readonly call: Call | undefined;
}

/** A charge under way. */
interface Call {
  /** Undefined: Redis has not run it. */
  readonly reply: { readonly at: number; readonly granted: boolean } | undefined;
  /** Ticks of the instance's clock since the call, and those that it missed. */
  readonly since: number;
  readonly missed: number;
}

/** Hits on their way back. */
interface GivenBack {
  readonly hits: number;
  readonly window: number;
}

interface State {
  readonly now: number;
  /** Hits used as Redis counts them, in the current window. */
  readonly used: number;
  /** Hits that requests got in the current window. */
  readonly granted: number;
  readonly instances: readonly Instance[];
  readonly returning: readonly GivenBack[];
}

interface Step {
  readonly name: string;
  readonly next: State;
}

/** Without hits, the rest of a lease says nothing. */
function trimmed(instance: Instance): Instance {
  if (instance.left > 0 || instance.held !== undefined) return instance;
  return { ...instance, window: 0, seen: 0, missed: 0 };
}

const NEW_INSTANCE: Instance = { left: 0, window: 0, seen: 0, missed: 0, held: undefined, charges: 0, call: undefined };
const windowOf = (now: number): number => Math.floor(now / WINDOW);

export interface Found {
  readonly states: number;
  /** The steps that lead to more hits than the limit; undefined: none do. */
  readonly history: readonly string[] | undefined;
}

/** Visits every state that some history reaches, the nearest first. */
export function explore(mistake?: Mistake): Found {
  const first: State = {
    now: 0,
    used: 0,
    granted: 0,
    instances: CHARGES.map(() => NEW_INSTANCE),
    returning: [],
  };
  const cameFrom = new Map<string, { readonly from: string; readonly name: string } | undefined>([[keyOf(first), undefined]]);
  const waiting = [first];
  // The loop reaches the states that it appends.
  for (const state of waiting) {
    const from = keyOf(state);
    for (const { name, next } of stepsOf(state, mistake)) {
      const key = keyOf(next);
      if (cameFrom.has(key)) continue;
      cameFrom.set(key, { from, name });
      if (next.granted > LIMIT) return { states: cameFrom.size, history: historyOf(key, cameFrom) };
      waiting.push(next);
    }
  }
  return { states: cameFrom.size, history: undefined };
}

/** A state as a text. */
function keyOf({ now, used, granted, instances, returning }: State): string {
  let key = `${now} ${used} ${granted}`;
  for (const { left, window, seen, missed, held, charges, call } of instances) {
    key += `|${left} ${window} ${seen} ${missed} ${held} ${charges}`;
    if (call !== undefined) key += ` ${call.since} ${call.missed} ${call.reply?.at} ${call.reply?.granted}`;
  }
  return returning.reduce((text, { hits, window }) => `${text}/${hits} ${window}`, key);
}

function historyOf(end: string, cameFrom: ReadonlyMap<string, { readonly from: string; readonly name: string } | undefined>): string[] {
  const names: string[] = [];
  for (let step = cameFrom.get(end); step !== undefined; step = cameFrom.get(step.from)) names.unshift(step.name);
  return names;
}

function* stepsOf(state: State, mistake: Mistake | undefined): Generator<Step> {
  yield* ticks(state);
  yield* returns(state, mistake);
  for (const [i, instance] of state.instances.entries()) {
    const become = (changed: Partial<Instance>, rest: Partial<State> = {}): State => ({
      ...state,
      ...rest,
      instances: state.instances.map((each, n) => (n === i ? trimmed({ ...instance, ...changed }) : each)),
    });
    // By its symmetry one instance that asks Redis for single hits is enough.
    if (i === DRIFTING && state.used < LIMIT)
      yield { name: 'asks', next: become({}, { used: state.used + 1, granted: state.granted + 1 }) };
    const input = { state, instance, become, mistake, chargesMax: CHARGES[i] ?? 0, mayHold: i === DRIFTING };
    yield* chargeSteps(input);
    yield* useSteps(input);
    if (i === DRIFTING && (instance.left > 0 || instance.call !== undefined))
      yield { name: 'crashes', next: become({ ...NEW_INSTANCE, charges: instance.charges }) };
  }
}

/** Redis's clock goes on; that of an instance too, or it falls behind as far as it may. */
function* ticks(state: State): Generator<Step> {
  const now = state.now + 1;
  if (now >= WINDOW * WINDOWS) return;
  const isSame = windowOf(now) === windowOf(state.now);
  const used = isSame ? state.used : 0;
  const granted = isSame ? state.granted : 0;
  const ways = state.instances.map((instance, i) => {
    const { call, seen, missed } = instance;
    const onTime = trimmed({ ...instance, seen: seen + 1, call: call && { ...call, since: call.since + 1 } });
    const mayMiss = i === DRIFTING && missed < DRIFT && (call === undefined || call.missed < DRIFT);
    const isWatching = instance.left > 0 || call !== undefined;
    const late = trimmed({ ...instance, missed: missed + 1, call: call && { ...call, missed: call.missed + 1 } });
    return mayMiss && isWatching ? [onTime, late] : [onTime];
  });
  for (const one of ways[0] ?? [])
    for (const other of ways[1] ?? []) yield { name: 'time passes', next: { ...state, now, used, granted, instances: [one, other] } };
}

/** Hits given back arrive, or are lost on their way. */
function* returns(state: State, mistake: Mistake | undefined): Generator<Step> {
  for (const [i, { hits, window }] of state.returning.entries()) {
    const others = state.returning.filter((_, n) => n !== i);
    const isCounted = window === windowOf(state.now) || mistake === 'gives hits of a window back to the next one';
    const used = isCounted ? Math.max(0, state.used - hits) : state.used;
    yield { name: 'hits are back', next: { ...state, used, returning: others } };
    yield { name: 'hits are lost', next: { ...state, returning: others } };
    // The reply is lost, and the instance sends the hits once more.
    if (mistake === 'gives back again after a lost reply') yield { name: 'hits are back, unheard', next: { ...state, used } };
  }
}

interface StepInput {
  readonly state: State;
  readonly instance: Instance;
  readonly become: (changed: Partial<Instance>, rest?: Partial<State>) => State;
  readonly mistake: Mistake | undefined;
  readonly chargesMax: number;
  readonly mayHold: boolean;
}

function* chargeSteps({ state, instance, become, mistake, chargesMax }: StepInput): Generator<Step> {
  const { call, charges, left, window } = instance;
  if (call === undefined) {
    if (charges < chargesMax)
      yield { name: 'charges', next: become({ charges: charges + 1, call: { reply: undefined, since: 0, missed: 0 } }) };
    return;
  }
  if (call.reply === undefined) {
    const granted = state.used + AHEAD <= LIMIT;
    const reply = { at: state.now, granted };
    yield { name: 'Redis charges', next: become({ call: { ...call, reply } }, { used: state.used + (granted ? AHEAD : 0) }) };
  }
  const spent = mistake === 'spends a charge whose reply is lost';
  const lost = spent ? { left: left + AHEAD, window: windowOf(state.now), seen: state.now, missed: 0 } : {};
  // A loss before Redis charges, or of a refusal, leaves what a charge that was never sent leaves.
  if (spent || call.reply?.granted === true) yield { name: 'the reply is lost', next: become({ ...lost, call: undefined }) };
  if (call.reply === undefined) return;
  const { at, granted } = call.reply;
  const isSame = windowOf(at) === window;
  // An older reply than that of the lease, if it has hits of a later window.
  const isOlder = left > 0 && windowOf(at) < window;
  const kept = isSame ? left : 0;
  const taken = { left: kept + AHEAD, window: windowOf(at), seen: at + call.since, missed: call.missed };
  const lease = granted && !isOlder ? taken : {};
  yield { name: 'the reply comes', next: become({ ...lease, call: undefined }) };
  if (mistake === 'counts a repeated reply twice') yield { name: 'the reply comes first', next: become(lease) };
}

function* useSteps({ state, instance, become, mistake, mayHold }: StepInput): Generator<Step> {
  const { left, window, seen, held } = instance;
  const margin = mistake === 'leaves no margin for drift' ? 0 : DRIFT;
  const isInTime = windowOf(seen + margin) === window || mistake === 'uses a lease past the end of its window';
  if (left > 0 && isInTime) {
    yield { name: 'uses', next: become({ left: left - 1 }, { granted: state.granted + 1 }) };
    if (mayHold && held === undefined)
      yield { name: 'holds', next: become({ left: left - 1, held: window }, { granted: state.granted + 1 }) };
  }
  if (held !== undefined) {
    const isOfLease = held === window || mistake === 'puts a held hit back into the lease of another window';
    yield { name: 'is admitted', next: become({ held: undefined }) };
    const granted = state.granted - (held === windowOf(state.now) ? 1 : 0);
    yield { name: 'is denied', next: become({ held: undefined, left: left + (isOfLease ? 1 : 0) }, { granted }) };
  }
  if (left > 0 && state.returning.length < RETURNING_MAX) {
    const hits = mistake === 'gives back hits that were used' ? AHEAD : left;
    const kept = mistake === 'goes on using hits that it gave back' ? left : 0;
    yield { name: 'gives back', next: become({ left: kept }, { returning: [...state.returning, { hits, window }] }) };
  }
}
